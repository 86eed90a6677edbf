import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'

/**
 * Gives a request over HTTP/2 the headers that it would have over HTTP/1.1: `host`, and `transfer-encoding` for a body of unknown
 * length, and its response the property `destroyed`, which Node's HTTP/2 compatibility API lacks. The casts are safe, because the other
 * methods are those of HTTP/1.1.
 */
export function likeHttp1(req: Http2ServerRequest, res: Http2ServerResponse): [IncomingMessage, ServerResponse] {
  const { headers, rawHeaders } = req
  const host = req.authority || headers.host
  const http1RawHeaders: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (!name.startsWith(':') && name !== 'host') http1RawHeaders.push(name, rawHeaders[i + 1] ?? '')
  }
  if (host !== undefined) {
    headers.host = host
    http1RawHeaders.push('host', host)
  }
  if (headers['content-length'] === undefined && !req.stream.endAfterHeaders) headers['transfer-encoding'] = 'chunked'
  rawHeaders.splice(0, rawHeaders.length, ...http1RawHeaders)
  const { stream } = res
  Object.defineProperty(res, 'destroyed', { get: () => stream.destroyed })
  return [req as unknown as IncomingMessage, res as unknown as ServerResponse]
}
