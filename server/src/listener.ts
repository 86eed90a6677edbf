import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export type RequestHandlers = {
  request: (req: IncomingMessage, res: ServerResponse) => void
  upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Closes upgraded connections as their protocol requires. Those still open when it resolves are destroyed. */
  closeUpgraded?: () => Promise<void>
}

/** A port that is open from the start of the process, before there are handlers for its requests. */
export type Listener = {
  port: number
  /** Handles requests from now on. Before that, only /healthz succeeds, and other requests wait. */
  setHandlers: (handlers: RequestHandlers) => void
  /**
   * Takes no new connections and closes each open one after the response to its next request, or when it has been idle for two
   * seconds. Resolves when all are closed; after `withinMs` the remaining ones are destroyed.
   */
  drain: (withinMs: number) => Promise<void>
  /** Destroys all open connections. */
  close: () => Promise<void>
}

/** A client that used its connection this recently may be sending its next request. */
const inUseMs = 2_000
const pollMs = 50
const quietMs = 100
const maxQuietMs = 2_000

type Connection = { open: Set<ServerResponse>; usedMs: number; isUpgraded: boolean }

/** Opens a port. @throws Error with the code EADDRINUSE if another program has it */
export async function listen(port: number, host: string): Promise<Listener> {
  const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 300_000, maxHeaderSize: 32_768 })
  const connections = new Map<Socket, Connection>()
  const queue = startupQueue()
  let handlers: RequestHandlers = queue
  let isDraining = false
  let connectedMs = 0

  server.on('connection', (socket: Socket) => {
    connectedMs = performance.now()
    connections.set(socket, { open: new Set(), usedMs: performance.now(), isUpgraded: false })
    socket.once('close', () => connections.delete(socket))
  })
  server.on('request', (req: IncomingMessage, res: ServerResponse) => {
    const connection = connections.get(req.socket)
    connection?.open.add(res)
    res.once('close', () => {
      connection?.open.delete(res)
      if (connection) connection.usedMs = performance.now()
    })
    if (isDraining) res.shouldKeepAlive = false
    handlers.request(req, res)
  })
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(port, host, done)
  })

  /** Connections that the kernel has queued are reset when the port closes, which is least likely when none arrived recently. */
  const waitForQuiet = async () => {
    const untilMs = performance.now() + maxQuietMs
    while (performance.now() - connectedMs < quietMs && performance.now() < untilMs)
      await new Promise((done) => setTimeout(done, quietMs / 2))
    await new Promise((done) => setImmediate(done))
  }

  const closeIdle = () => {
    const idleSinceMs = performance.now() - inUseMs
    for (const [socket, { open, usedMs, isUpgraded }] of connections)
      if (!isUpgraded && open.size === 0 && usedMs < idleSinceMs) socket.end()
  }
  const close = async () => {
    const closed = new Promise((done) => server.close(done))
    server.closeAllConnections()
    await handlers.closeUpgraded?.()
    for (const socket of connections.keys()) socket.destroy()
    await closed
  }
  return {
    port: (server.address() as AddressInfo).port,
    setHandlers: (next) => {
      handlers = next
      queue.release(next)
      const { upgrade } = next
      if (!upgrade) return
      // Without an `upgrade` listener, Node treats a request that offers an upgrade like any other.
      server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
        const connection = connections.get(req.socket)
        if (connection) connection.isUpgraded = true
        upgrade(req, socket, head)
      })
    },
    drain: async (withinMs) => {
      await waitForQuiet()
      // The HTTP server's own `close` would close idle connections immediately, even if a request is on its way.
      NetServer.prototype.close.call(server)
      // Not earlier: a client that is asked to reconnect must not reach a port that is about to close.
      isDraining = true
      const startedMs = performance.now()
      for (const { open } of connections.values())
        for (const res of open) if (!res.headersSent) res.shouldKeepAlive = false
      const untilMs = performance.now() + withinMs
      void handlers.closeUpgraded?.()
      while (connections.size > 0 && performance.now() < untilMs) {
        // Before that, a balancer that cannot open new connections still uses its existing ones.
        if (performance.now() - startedMs > inUseMs) closeIdle()
        await new Promise((done) => setTimeout(done, pollMs))
      }
      await close()
    },
    close,
  }
}

/** Holds requests until there are handlers, so that a restart fails none. Only health checks are answered immediately. */
function startupQueue(): { request: RequestHandlers['request']; release: (handlers: RequestHandlers) => void } {
  const waiting = new Map<ServerResponse, IncomingMessage>()
  return {
    request: (req, res) => {
      if (req.url === '/healthz') return sendJson(req, res, 200, { status: 'ok' })
      const mayWait = req.url !== '/readyz' && req.headers.upgrade === undefined && waiting.size < maxWaiting
      if (!mayWait) return refuse(req, res)
      const timer = setTimeout(() => refuse(req, res), maxWaitMs).unref()
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

const refuse = (req: IncomingMessage, res: ServerResponse) =>
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
