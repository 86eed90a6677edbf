import { request, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { requestHeaders, responseHeaders } from './headers.ts'
import type { Upstream } from './upstreams.ts'
import { WebSocketGate } from './websocket-gate.ts'

const connectMs = 10_000

/**
 * Leads a WebSocket (or any other upgrade) to a squid and joins the two connections. Resolves with the status once it is
 * decided, never rejects. Otherwise nothing has been written yet: `not there` when the squid could not be connected to, `broken
 * off` when it did not answer.
 */
export function forwardUpgrade(
  req: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: Upstream,
  path: string,
  isProxyTrusted: boolean,
  draining?: AbortSignal,
): Promise<number | 'not there' | 'broken off'> {
  const { endpoint } = upstream
  const headers = requestHeaders(req, isProxyTrusted)
  headers.push('connection', 'Upgrade', 'upgrade', req.headers.upgrade ?? 'websocket')
  const where = 'path' in endpoint ? { socketPath: endpoint.path } : endpoint
  const asked = request({ ...where, method: req.method, path, headers, timeout: connectMs, agent: false })
  let isConnected = false
  asked.once('socket', (squid) => squid.once('connect', () => (isConnected = true)))
  return new Promise((done) => {
    asked.once('upgrade', (answer, squid, first) => {
      socket.write(rawHead(answer, ['connection', 'Upgrade', 'upgrade', answer.headers.upgrade ?? 'websocket']))
      if (first.length > 0) socket.write(first)
      if (head.length > 0) squid.write(head)
      asked.setTimeout(0)
      // Of another protocol nobody knows where it may be ended.
      join(socket, squid, req.headers.upgrade?.toLowerCase() === 'websocket' ? draining : undefined)
      done(101)
    })
    asked.once('response', (answer) => {
      // It does not want to be upgraded: its words go back as they are.
      socket.write(rawHead(answer, ['connection', 'close']))
      answer.pipe(socket)
      done(answer.statusCode ?? 502)
    })
    asked.once('timeout', () => asked.destroy(new Error('timeout')))
    asked.once('error', () => done(isConnected ? 'broken off' : 'not there'))
    socket.once('close', () => asked.destroy())
    asked.end()
  })
}

function join(client: Duplex, squid: Duplex, draining?: AbortSignal): void {
  const gate = new WebSocketGate()
  const end = () => gate.endBetweenFrames()
  draining?.addEventListener('abort', end)
  client.once('close', () => draining?.removeEventListener('abort', end))
  client.pipe(squid)
  squid.pipe(gate).pipe(client)
  for (const [from, to] of [
    [client, squid],
    [squid, client],
  ] as const) {
    from.once('close', () => to.destroy())
    from.on('error', () => to.destroy())
  }
}

/** The body that follows is as it was before any chunking, and ends with the connection. */
function rawHead(answer: IncomingMessage, ofConnection: string[]): string {
  const headers = [...responseHeaders(answer.headersDistinct, false), ...ofConnection]
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ''}`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Answers a request for an upgrade over HTTP, with a body of JSON. */
export function refuseUpgrade(socket: Duplex, status: number, body: string): void {
  socket.end(
    `HTTP/1.1 ${status} \r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
