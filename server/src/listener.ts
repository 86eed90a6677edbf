import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'

export type RequestHandlers = {
  request: (req: IncomingMessage, res: ServerResponse) => void
  upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends upgraded connections in the way of their protocol. Those that are left when it resolves are cut off. */
  closeUpgraded?: () => Promise<void>
}

/** A port that is ours from the start on, before there is anything that could answer. */
export type Listener = {
  port: number
  /** From now on requests get their answers from these. Until then they wait, and only /healthz is well. */
  setHandlers: (answering: RequestHandlers) => void
  /**
   * Takes no new connections, and ends each open one when it is of no use any more: with the answer to its next request, or when it
   * was not used for two seconds since. Resolves when all have ended; after `withinMs` the rest is cut off.
   */
  drain: (withinMs: number) => Promise<void>
  /** Cuts off what is still open. */
  close: () => Promise<void>
}

/** A client that used its connection so lately is likely to send the next request just now. */
const inUseMs = 2_000
const pollMs = 50
const quietMs = 100
const maxQuietMs = 2_000

type Connection = { open: Set<ServerResponse>; usedMs: number; isUpgraded: boolean }

/** @throws Error with the code EADDRINUSE when another program has the port */
export async function listen(port: number, host: string): Promise<Listener> {
  const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 300_000, maxHeaderSize: 32_768 })
  const connections = new Map<Socket, Connection>()
  const room = waitingRoom()
  let answering: RequestHandlers = room
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
    answering.request(req, res)
  })
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(port, host, done)
  })

  /** What the kernel has connected and we have not accepted is reset when the port closes: that is least likely when none came lately. */
  const quietMoment = async () => {
    const untilMs = performance.now() + maxQuietMs
    while (performance.now() - connectedMs < quietMs && performance.now() < untilMs)
      await new Promise((done) => setTimeout(done, quietMs / 2))
    await new Promise((done) => setImmediate(done))
  }

  const endUnused = () => {
    const unusedSinceMs = performance.now() - inUseMs
    for (const [socket, { open, usedMs, isUpgraded }] of connections)
      if (!isUpgraded && open.size === 0 && usedMs < unusedSinceMs) socket.end()
  }
  const close = async () => {
    const closed = new Promise((done) => server.close(done))
    server.closeAllConnections()
    await answering.closeUpgraded?.()
    for (const socket of connections.keys()) socket.destroy()
    await closed
  }
  return {
    port: (server.address() as AddressInfo).port,
    setHandlers: (next) => {
      answering = next
      room.letIn(next)
      const { upgrade } = next
      if (!upgrade) return
      // Without a listener, a request that offers an upgrade is answered like any other.
      server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
        const connection = connections.get(req.socket)
        if (connection) connection.isUpgraded = true
        upgrade(req, socket, head)
      })
    },
    drain: async (withinMs) => {
      await quietMoment()
      // Not the HTTP server's own `close`: that ends idle connections at once, also under a request that is on its way.
      NetServer.prototype.close.call(server)
      // Not before: who is told to connect again must not reach a port that is about to close.
      isDraining = true
      const startedMs = performance.now()
      for (const { open } of connections.values())
        for (const res of open) if (!res.headersSent) res.shouldKeepAlive = false
      const untilMs = performance.now() + withinMs
      void answering.closeUpgraded?.()
      while (connections.size > 0 && performance.now() < untilMs) {
        // A balancer that finds no new connections uses up those it has.
        if (performance.now() - startedMs > inUseMs) endUnused()
        await new Promise((done) => setTimeout(done, pollMs))
      }
      await close()
    },
    close,
  }
}

/** Health is told at once; everything else waits until there is something that answers, so that a restart fails no request. */
function waitingRoom(): { request: RequestHandlers['request']; letIn: (answering: RequestHandlers) => void } {
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
    letIn: (answering) => {
      for (const [res, req] of waiting) if (!res.headersSent) answering.request(req, res)
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
