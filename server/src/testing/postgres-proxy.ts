import { createServer, connect, type AddressInfo, type Socket } from 'node:net'

/** A TCP proxy between a server and its Postgres that simulates failures of networks and hosts. */
export type PostgresProxy = {
  /** Returns the URL of the same database through the proxy. */
  via: (url: string) => string
  /** Simulates a frozen host: accepts connections but forwards no data in either direction. */
  freeze: () => void
  /** Ends the simulated freeze: forwards data again, including the data received during it. */
  thaw: () => void
  /** Simulates a stopped Postgres: resets all connections and refuses new connections. */
  stop: () => Promise<void>
  start: () => Promise<void>
  close: () => Promise<void>
}

/** Starts a proxy to the server of `postgresUrl`, which may contain the placeholder `{database}`. */
export async function startPostgresProxy(postgresUrl: string): Promise<PostgresProxy> {
  const postgresAddress = new URL(postgresUrl.replace('{database}', 'postgres'))
  const sockets = new Set<Socket>()
  let isFrozen = false
  let port = 0
  const server = createServer((clientSocket) => {
    const postgresSocket = connect(Number(postgresAddress.port), postgresAddress.hostname)
    for (const [source, target] of [
      [clientSocket, postgresSocket],
      [postgresSocket, clientSocket],
    ] as const) {
      sockets.add(source)
      source.on('data', (chunk) => void target.write(chunk))
      if (isFrozen) source.pause()
      source.on('error', () => {})
      source.on('close', () => {
        sockets.delete(source)
        target.destroy()
      })
    }
  })
  const start = () =>
    new Promise<void>((done) =>
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as AddressInfo).port
        done()
      }),
    )
  const stop = () =>
    new Promise<void>((done) => {
      server.close(() => done())
      for (const socket of sockets) socket.resetAndDestroy()
    })
  await start()
  return {
    via: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    freeze: () => {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    thaw: () => {
      isFrozen = false
      for (const socket of sockets) socket.resume()
    },
    stop,
    start,
    close: async () => {
      if (server.listening) await stop()
    },
  }
}
