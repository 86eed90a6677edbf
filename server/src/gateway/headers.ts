import type { IncomingMessage } from 'node:http'

/** Of one connection only (RFC 9110, 7.6.1), and what must not reach or leave a squid. */
const dropped = new Set([
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
  // Ours to say.
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
])

/** What a squid is told: the caller's headers without those of the connection, and where the request came from. */
export function requestHeaders(request: IncomingMessage, isProxyTrusted: boolean): string[] {
  const headers: string[] = []
  const ofConnection = named(request.headers.connection)
  const raw = request.rawHeaders
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? ''
    const lower = name.toLowerCase()
    if (!dropped.has(lower) && !ofConnection?.has(lower) && lower !== 'content-length')
      headers.push(name, raw[i + 1] ?? '')
  }
  const before = isProxyTrusted ? request.headers['x-forwarded-for'] : undefined
  const address = request.socket.remoteAddress ?? ''
  headers.push('x-forwarded-for', before ? `${String(before)}, ${address}` : address)
  headers.push('x-forwarded-host', request.headers.host ?? '')
  headers.push('x-forwarded-proto', (isProxyTrusted && request.headers['x-forwarded-proto']?.toString()) || 'http')
  return headers
}

/** What a squid may not tell a browser: it speaks for the whole origin, which all squids may share. */
const ofOrigin = new Set(['clear-site-data', 'service-worker-allowed', 'strict-transport-security', 'alt-svc'])

/** What the caller is told: the squid's headers, names in lower case, without those of the connection and of the origin. */
export function responseHeaders(told: Record<string, string | string[] | undefined>, ownCors: boolean): string[] {
  const headers: string[] = []
  const ofConnection = named(told['connection']?.toString())
  for (const [name, value] of Object.entries(told)) {
    if (value === undefined || dropped.has(name) || ofOrigin.has(name) || ofConnection?.has(name)) continue
    if (ownCors && name.startsWith('access-control-')) continue
    if (typeof value === 'string') headers.push(name, value)
    else for (const one of value) headers.push(name, one)
  }
  return headers
}

/** Names the Connection header adds to those of the connection. */
function named(connection: string | undefined): Set<string> | null {
  if (!connection || /^(keep-alive|close)$/i.test(connection)) return null
  return new Set(connection.toLowerCase().split(/\s*,\s*/))
}
