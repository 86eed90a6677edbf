import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIPv6, Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { loopbackAddress, openLoopback6, openPort } from './open-port.ts'

export type RequestHandlers = {
  request: (req: IncomingMessage, res: ServerResponse) => void
  upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Closes upgraded connections as their protocol requires. Connections that are still open when it resolves are destroyed. */
  closeUpgraded?: () => Promise<void>
}

/** A port that is open from the start of the process, before there are handlers for its requests. */
export type Listener = {
  port: number
  /** True if the port would also be open on ::1, but this machine does not have that address. */
  lacksLoopback6: boolean
  /** Sets the handlers of requests. Until then, only /healthz succeeds, and other requests wait. */
  setHandlers: (handlers: RequestHandlers) => void
  /**
   * Accepts no new connections, and closes each open connection after the response to its next request, or when it has been idle for
   * two seconds. Resolves when all connections are closed; destroys the remaining ones after `withinMs`.
   */
  drain: (withinMs: number) => Promise<void>
  /** Destroys all open connections. */
  close: () => Promise<void>
}

/** Prepares the connections of a port, such as TLS. */
export type ConnectionLayer = {
  /** Accepts a new connection. Passes it to `http1` if its requests use HTTP/1, and the requests of other protocols to `request`. */
  accept: (socket: Socket, http1: (socket: Socket) => void, request: RequestHandlers['request']) => void
  /** The number of connections, of all protocols. */
  openConnections: () => number
  /** Closes connections of other protocols after their requests in progress. */
  drain: () => void
  /** Destroys all connections. */
  close: () => void
}

/** A client that used its connection within this time may be sending its next request. */
const maxInUseMs = 2_000
const pollMs = 50
/** A port closes once no connection has arrived for `quietMs`, and at the latest after `maxQuietMs`. */
const quietMs = 100
const maxQuietMs = 2_000
/** Maximum number of requests that a client may send on a connection before their responses have ended. */
const maxPipelined = 100

type Connection = { responses: Set<ServerResponse>; lastUsedMs: number; isUpgraded: boolean }

/**
 * Opens a port. With 127.0.0.1 it also opens ::1, unless this machine has no IPv6: `localhost` may resolve to either address, and
 * another program on ::1 could otherwise receive requests for Shoal. Without a host it listens on all addresses. Connections pass through
 * `layer` first. `inheritedFds` are sockets that systemd has opened: those of these addresses are used instead of new ones.
 * @throws Error with the code EADDRINUSE if another program uses the port, on either address
 */
export async function listen(
  port: number,
  host: string | undefined,
  { layer, inheritedFds = [] }: { layer?: ConnectionLayer; inheritedFds?: number[] } = {},
): Promise<Listener> {
  // Idle connections are kept longer than load balancers keep them, so that a balancer never sends a request on a closed one.
  const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 300_000, maxHeaderSize: 32_768 })
  const connections = new Map<Socket, Connection>()
  const queue = createStartupQueue()
  let handlers: RequestHandlers = queue
  let isDraining = false
  let lastConnectionMs = 0

  server.on('connection', (socket: Socket) => {
    lastConnectionMs = performance.now()
    connections.set(socket, { responses: new Set(), lastUsedMs: performance.now(), isUpgraded: false })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket)
    connection?.responses.add(res)
    res.once('close', () => {
      connection?.responses.delete(res)
      if (connection) connection.lastUsedMs = performance.now()
    })
    if (isDraining) res.shouldKeepAlive = false
    if (connection && connection.responses.size > maxPipelined) req.socket.destroy()
    else handlers.request(req, res)
  })
  const toHttp1 = (socket: Socket) => void server.emit('connection', socket)
  const accept = layer
    ? (socket: Socket) => {
        lastConnectionMs = performance.now()
        layer.accept(socket, toHttp1, (req, res) => handlers.request(req, res))
      }
    : toHttp1
  // An HTTP server that does not listen enforces its timeouts only after this event.
  if (layer) server.emit('listening')
  const netServer = layer ? new NetServer(accept) : server
  await openPort(netServer, { port, host }, inheritedFds)
  const ports: NetServer[] = [netServer]
  const needsLoopback6 = host === loopbackAddress
  if (needsLoopback6) {
    const loopback6Server = await openLoopback6(portOf(netServer), accept, inheritedFds).catch((error: unknown) => {
      netServer.close()
      throw error
    })
    if (loopback6Server) ports.push(loopback6Server)
  }

  /** Waits until no connection has arrived recently: connections that the kernel has queued are reset when the port closes. */
  const waitForQuiet = async () => {
    const deadlineMs = performance.now() + maxQuietMs
    while (performance.now() - lastConnectionMs < quietMs && performance.now() < deadlineMs)
      await new Promise((done) => setTimeout(done, quietMs / 2))
    await new Promise((done) => setImmediate(done))
  }

  const closeIdle = () => {
    const idleSinceMs = performance.now() - maxInUseMs
    for (const [socket, { responses, lastUsedMs, isUpgraded }] of connections)
      if (!isUpgraded && responses.size === 0 && lastUsedMs < idleSinceMs) socket.end()
  }
  const close = async () => {
    const closed = Promise.all(ports.map((port) => new Promise((done) => port.close(done))))
    server.closeAllConnections()
    if (layer) server.close()
    await handlers.closeUpgraded?.()
    for (const socket of connections.keys()) socket.destroy()
    layer?.close()
    await closed
  }
  return {
    port: portOf(netServer),
    lacksLoopback6: needsLoopback6 && ports.length === 1,
    setHandlers: (next) => {
      handlers = next
      queue.release(next)
      const { upgrade } = next
      if (!upgrade) return
      // Without an `upgrade` listener, Node treats a request that offers an upgrade like any other request.
      server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
        const connection = connections.get(req.socket)
        if (connection) connection.isUpgraded = true
        upgrade(req, socket, head)
      })
    },
    drain: async (withinMs) => {
      await waitForQuiet()
      // The HTTP server's own `close` would close idle connections immediately, even if a request is about to arrive.
      for (const port of ports) NetServer.prototype.close.call(port)
      // Set only now: a client that has to reconnect must not reach a port that is about to close.
      isDraining = true
      layer?.drain()
      const startedMs = performance.now()
      for (const { responses } of connections.values())
        for (const res of responses) if (!res.headersSent) res.shouldKeepAlive = false
      const deadlineMs = performance.now() + withinMs
      void handlers.closeUpgraded?.()
      while (connections.size + (layer?.openConnections() ?? 0) > 0 && performance.now() < deadlineMs) {
        // Idle connections stay open at first: a load balancer that cannot open new ones still uses them.
        if (performance.now() - startedMs > maxInUseMs) closeIdle()
        await new Promise((done) => setTimeout(done, pollMs))
      }
      await close()
    },
    close,
  }
}

/** Returns the URL of a port of this host that listens on this address: on loopback if it listens on all addresses. */
export function localUrl(host: string, port: number): string {
  const wildcards: Record<string, string> = { '0.0.0.0': loopbackAddress, '::': '::1' }
  const address = wildcards[host] ?? host
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`
}

const portOf = (server: NetServer) => (server.address() as AddressInfo).port

/** Holds requests until there are handlers, so that none fails during a restart. Only health checks get an immediate response. */
function createStartupQueue(): { request: RequestHandlers['request']; release: (handlers: RequestHandlers) => void } {
  const waiting = new Map<ServerResponse, IncomingMessage>()
  return {
    request: (req, res) => {
      if (req.url === '/healthz') return sendJson(req, res, 200, { status: 'ok' })
      const mayWait = req.url !== '/readyz' && req.headers.upgrade === undefined && waiting.size < maxWaiting
      if (!mayWait) return sendStarting(req, res)
      const timer = setTimeout(() => sendStarting(req, res), maxWaitMs).unref()
      waiting.set(res, req)
      res.once('close', () => {
        clearTimeout(timer)
        waiting.delete(res)
      })
    },
    release: (handlers) => {
      for (const [res, req] of waiting) if (!res.headersSent) handlers.request(req, res)
      waiting.clear()
    },
  }
}

const maxWaiting = 1_000
const maxWaitMs = 30_000

const sendStarting = (req: IncomingMessage, res: ServerResponse) =>
  sendJson(
    req,
    res,
    503,
    { status: 'not ready', error: 'Shoal is starting.', code: 'STARTING', checks: { start: 'has not ended' } },
    { 'retry-after': '1', connection: 'close' },
  )

function sendJson(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  if (res.headersSent) return
  res.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...headers,
  })
  res.end(req.method === 'HEAD' ? undefined : JSON.stringify(body))
}
