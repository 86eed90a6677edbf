import { isSquidAddress } from '@shoal/runtime'
import type { IncomingMessage } from 'node:http'
import type { CorsRules } from './routes-store.ts'

/** Hop-by-hop headers (RFC 9110, 7.6.1), and headers that must not reach or leave a squid. */
const droppedHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  // All squids may share the gateway's origin: a cookie of one must not reach another.
  'cookie',
  'set-cookie',
  // The gateway sets these headers itself.
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
])

/** Returns the headers for the squid: the caller's without hop-by-hop headers, plus the forwarding headers. */
export function requestHeaders(request: IncomingMessage, isProxyTrusted: boolean): string[] {
  const headers: string[] = []
  const hopByHop = headersListedIn(request.headers.connection)
  const raw = request.rawHeaders
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? ''
    const lower = name.toLowerCase()
    if (!droppedHeaders.has(lower) && !hopByHop?.has(lower) && lower !== 'content-length')
      headers.push(name, raw[i + 1] ?? '')
  }
  const address = request.socket.remoteAddress ?? ''
  const forwardedFor = isForwardingTrusted(request, isProxyTrusted) ? request.headers['x-forwarded-for'] : undefined
  headers.push('x-forwarded-for', forwardedFor ? `${String(forwardedFor)}, ${address}` : address)
  headers.push('x-forwarded-host', request.headers.host ?? '')
  headers.push('x-forwarded-proto', schemeOf(request, isProxyTrusted))
  return headers
}

/** A squid reaches the gateway directly, not through the operator's proxy, so its forwarding headers may be false. */
const isForwardingTrusted = ({ socket }: IncomingMessage, isProxyTrusted: boolean): boolean =>
  isProxyTrusted && !isSquidAddress(socket.remoteAddress ?? '')

/** Returns the caller's address: that of the connection, or the last one that the operator's proxy reports. */
export function callerAddress(request: IncomingMessage, isProxyTrusted: boolean): string {
  const forwardedFor = isForwardingTrusted(request, isProxyTrusted) ? request.headers['x-forwarded-for'] : undefined
  return forwardedFor?.toString().split(',').at(-1)?.trim() || (request.socket.remoteAddress ?? '')
}

/** Returns the scheme with which the caller sent the request, `http` or `https`, to this server or to the operator's proxy. */
export function schemeOf(request: IncomingMessage, isProxyTrusted: boolean): string {
  const { socket } = request
  const forwarded = isForwardingTrusted(request, isProxyTrusted) && request.headers['x-forwarded-proto']?.toString()
  return forwarded || ('encrypted' in socket && socket.encrypted ? 'https' : 'http')
}

/** Headers that affect the whole origin, which all squids may share. */
const originWideHeaders = new Set([
  'clear-site-data',
  'service-worker-allowed',
  'strict-transport-security',
  'alt-svc',
  // Browsers would report the URLs of all requests to the origin, including RPC tokens, to an address that the squid chooses.
  'nel',
  'report-to',
  // Browsers would add headers to, or change how they handle, all requests to the origin.
  'accept-ch',
  'critical-ch',
  'origin-agent-cluster',
  'use-as-dictionary',
  'set-login',
  'shared-storage-write',
  'public-key-pins',
  'expect-ct',
])

/** Headers with which a web server instructs the proxy in front of it (nginx, lighttpd, Apache), to send a file of the proxy's host for example. */
const proxyHeaders = new Set([
  'x-accel-redirect',
  'x-accel-expires',
  'x-accel-limit-rate',
  'x-accel-charset',
  'x-sendfile',
  'x-sendfile2',
  'x-lighttpd-send-file',
  'x-lighttpd-send-tempfile',
  'x-reproxy-url',
  'x-reproxy-file',
  'surrogate-control',
])

/** Returns the headers for the caller: the squid's, in lower case, without hop-by-hop and origin-wide headers, and those for proxies. */
export function responseHeaders(
  received: Record<string, string | string[] | undefined>,
  replacesCors: boolean,
): string[] {
  const headers: string[] = []
  const hopByHop = headersListedIn(received['connection']?.toString())
  for (const [name, value] of Object.entries(received)) {
    if (value === undefined || droppedHeaders.has(name) || originWideHeaders.has(name) || hopByHop?.has(name)) continue
    if (proxyHeaders.has(name) || (name === 'www-authenticate' && promptsForPassword(value))) continue
    if (replacesCors && name.startsWith('access-control-')) continue
    if (typeof value === 'string') headers.push(name, value)
    else for (const item of value) headers.push(name, item)
  }
  return headers
}

/**
 * Whether a browser may ask the user for a password. It would show the name of the origin, which all squids may share, and would send the
 * password to every squid that asks with the same realm (RFC 7617, 2.2).
 */
const promptsForPassword = (challenges: string | string[]): boolean =>
  [challenges].flat().some((challenge) => !/^\s*bearer(?:\s[^,]*)?$/i.test(challenge))

/** Returns the hop-by-hop headers that a Connection header lists; null if it lists none. */
function headersListedIn(connection: string | undefined): Set<string> | null {
  if (!connection || connection === 'keep-alive' || /^(keep-alive|close)$/i.test(connection)) return null
  return new Set(connection.toLowerCase().split(/\s*,\s*/))
}

/** Returns the CORS headers from `deploy.cors` of the manifest for one origin; null when the manifest leaves CORS to the squid. */
export function corsHeaders(rules: CorsRules | null, origin: string | undefined): string[] | null {
  if (!rules || rules.enabled === false || Object.keys(rules).length === 0) return null
  if (!origin) return []
  const allowed = toList(rules.allow_origin ?? '*')
  const allowsAnyOrigin = allowed.includes('*')
  if (!allowsAnyOrigin && !allowed.includes(origin)) return ['vary', 'Origin']
  const allowsCredentials = rules.allow_credentials === true
  return [
    'access-control-allow-origin',
    allowsAnyOrigin && !allowsCredentials ? '*' : origin,
    'vary',
    'Origin',
    ...(allowsCredentials ? ['access-control-allow-credentials', 'true'] : []),
    ...optionalHeader('access-control-expose-headers', rules.expose_headers),
  ]
}

/** Returns the additional headers for preflight responses. */
export function preflightHeaders(rules: CorsRules, requestedHeaders: string | undefined): string[] {
  return [
    'access-control-allow-methods',
    toList(rules.allow_methods ?? ['GET', 'POST', 'HEAD', 'OPTIONS']).join(', '),
    ...optionalHeader('access-control-allow-headers', rules.allow_headers ?? requestedHeaders),
    ...(rules.max_age ? ['access-control-max-age', String(rules.max_age)] : []),
  ]
}

const toList = (value: string | string[]): string[] =>
  (Array.isArray(value) ? value : value.split(',')).map((item) => item.trim())

const optionalHeader = (name: string, value: string | string[] | undefined): string[] =>
  value === undefined ? [] : [name, toList(value).join(', ')]
