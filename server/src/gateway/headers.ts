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

/** What the caller is told: the squid's headers without those of the connection and of the origin. */
export function responseHeaders(raw: readonly (Buffer | string)[], ownCors: boolean): string[] {
  const headers: string[] = []
  let ofConnection: Set<string> | null = null
  for (let i = 0; i < raw.length; i += 2) {
    const name = String(raw[i])
    const lower = name.toLowerCase()
    const value = raw[i + 1] ?? ''
    const text = typeof value === 'string' ? value : value.toString('latin1')
    if (lower === 'connection') ofConnection = named(text)
    if (dropped.has(lower) || ofOrigin.has(lower) || (ownCors && lower.startsWith('access-control-'))) continue
    headers.push(name, text)
  }
  return ofConnection ? without(headers, ofConnection) : headers
}

function without(headers: string[], names: Set<string>): string[] {
  const kept: string[] = []
  for (let i = 0; i < headers.length; i += 2)
    if (!names.has((headers[i] ?? '').toLowerCase())) kept.push(headers[i] ?? '', headers[i + 1] ?? '')
  return kept
}

/** Names the Connection header adds to those of the connection. */
function named(connection: string | undefined): Set<string> | null {
  if (!connection || /^(keep-alive|close)$/i.test(connection)) return null
  return new Set(connection.toLowerCase().split(/\s*,\s*/))
}
