import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'

export type Answering = {
  request: (req: IncomingMessage, res: ServerResponse) => void
  upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Ends upgraded connections in the way of their protocol. Those that are left when it resolves are cut off. */
  closeUpgraded?: () => Promise<void>
}

/** A port that is ours from the start on, before there is anything that could answer. */
export type Listener = {
  port: number
  /** From now on requests get their answers from these. Until then only /healthz is well. */
  answerBy: (answering: Answering) => void
  close: () => Promise<void>
}

/** @throws Error with the code EADDRINUSE when another program has the port */
export async function listen(port: number, host: string): Promise<Listener> {
  const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 300_000, maxHeaderSize: 32_768 })
  let answering: Answering = notReady
  const upgraded = new Set<Duplex>()
  server.on('request', (req: IncomingMessage, res: ServerResponse) => answering.request(req, res))
  await new Promise<void>((done, failed) => {
    server.once('error', failed)
    server.listen(port, host, done)
  })
  return {
    port: (server.address() as AddressInfo).port,
    answerBy: (next) => {
      answering = next
      // Without a listener, a request that offers an upgrade is answered like any other.
      const { upgrade } = next
      if (!upgrade) return
      server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
        upgraded.add(socket)
        socket.once('close', () => upgraded.delete(socket))
        upgrade(req, socket, head)
      })
    },
    close: async () => {
      const closed = new Promise((done) => server.close(done))
      server.closeAllConnections()
      // The server waits for these, too.
      await answering.closeUpgraded?.()
      for (const socket of upgraded) socket.destroy()
      await closed
    },
  }
}

const notReady: Answering = {
  request: (req, res) => {
    const isHealth = req.url === '/healthz'
    const body = isHealth
      ? { status: 'ok' }
      : { status: 'not ready', error: 'Shoal is starting.', code: 'STARTING', checks: { start: 'has not ended' } }
    res.writeHead(isHealth ? 200 : 503, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(isHealth ? {} : { 'retry-after': '1', connection: 'close' }),
    })
    res.end(req.method === 'HEAD' ? undefined : JSON.stringify(body))
  },
}
