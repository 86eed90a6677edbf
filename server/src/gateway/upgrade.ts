import { request, type IncomingMessage } from 'node:http'
import { pipeline, type Duplex } from 'node:stream'
import { destroyLater } from '../ports/reject-upgrade.ts'
import { requestHeaders, responseHeaders } from './headers.ts'
import { maxInformational } from './proxy.ts'
import type { SquidProgram } from './squid-programs.ts'
import { WebSocketGate } from './websocket-gate.ts'

/** Maximum time until a squid responds to an upgrade. */
const responseTimeoutMs = 10_000
/** Idle time after which the kernel checks whether the caller of a WebSocket still exists. */
const keepAliveMs = 60_000

/** An upgrade to forward. */
export type UpgradeOptions = {
  req: IncomingMessage
  socket: Duplex
  /** Bytes that the caller sent directly after the request. */
  head: Buffer
  program: SquidProgram
  path: string
  isProxyTrusted: boolean
  /** Ends WebSockets on shutdown. */
  draining?: AbortSignal | undefined
}

/**
 * Forwards a WebSocket (or any other upgrade) to a squid and connects the two sockets. Resolves with the HTTP status sent to the
 * caller; never rejects. When nothing was sent yet, resolves with `unreachable` if the gateway could not connect to the squid, or
 * with `interrupted` if the squid did not respond.
 */
export function forwardUpgrade({
  req,
  socket,
  head,
  program: { endpoint },
  path,
  isProxyTrusted,
  draining,
}: UpgradeOptions): Promise<number | 'unreachable' | 'interrupted'> {
  req.socket.setKeepAlive(true, keepAliveMs)
  const headers = requestHeaders(req, isProxyTrusted)
  headers.push('connection', 'Upgrade', 'upgrade', req.headers.upgrade ?? 'websocket')
  const target = 'path' in endpoint ? { socketPath: endpoint.path } : endpoint
  const squidRequest = request({
    ...target,
    method: req.method,
    path,
    headers,
    timeout: responseTimeoutMs,
    agent: false,
  })
  let isConnected = false
  squidRequest.once('socket', (squid) => squid.once('connect', () => (isConnected = true)))
  return new Promise((done) => {
    squidRequest.once('upgrade', (response, squid, firstBytes) => {
      socket.write(rawHead(response, ['connection', 'Upgrade', 'upgrade', response.headers.upgrade ?? 'websocket']))
      if (firstBytes.length > 0) socket.write(firstBytes)
      if (head.length > 0) squid.write(head)
      squidRequest.setTimeout(0)
      // Only WebSockets can be ended between two frames; the framing of other protocols is unknown.
      pipeBoth(socket, squid, req.headers.upgrade?.toLowerCase() === 'websocket' ? draining : undefined)
      done(101)
    })
    squidRequest.once('response', (response) => {
      // The squid rejects the upgrade: forward its response.
      socket.write(rawHead(response, ['connection', 'close']))
      // Also ends the connection if the squid ends in the middle of its response.
      pipeline(response, socket, () => destroyLater(socket))
      done(response.statusCode ?? 502)
    })
    let informational = 0
    squidRequest.on('information', () => {
      if (++informational > maxInformational) squidRequest.destroy(new Error('Too many informational responses'))
    })
    squidRequest.once('timeout', () => squidRequest.destroy(new Error('timeout')))
    squidRequest.once('error', () => done(isConnected ? 'interrupted' : 'unreachable'))
    socket.once('close', () => squidRequest.destroy())
    squidRequest.end()
  })
}

function pipeBoth(client: Duplex, squid: Duplex, draining?: AbortSignal): void {
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

/** Returns the status line and headers. The body that follows is not chunked and ends with the connection. */
function rawHead(response: IncomingMessage, connectionHeaders: string[]): string {
  const headers = [...responseHeaders(response.headersDistinct, false), ...connectionHeaders]
  const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage ?? ''}`]
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
