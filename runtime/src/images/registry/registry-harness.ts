import { type Server, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An HTTP server between a client and a registry. */
export type Relay = {
  /** `127.0.0.1:port` */
  host: string
  /** All requests so far. `bytes`: the received bytes of the body. */
  requests: { method: string; path: string; bytes: number }[]
  /** Returns the total size of all request bodies. */
  sentBytes(): number
  stop(): Promise<void>
}

/** The relay responds to a request itself, or cuts the connection after this many bytes of the body. */
export type Fault = { status: number } | { cutAfter: number }
/** Returns the fault of a request; null: the relay forwards it. */
export type ChooseFault = (method: string, path: string) => Fault | null

/** Starts an HTTP server that forwards requests to a registry, counts their bytes, and fails those that `chooseFault` selects. */
export async function startRelay(registryHost: string, chooseFault: ChooseFault = () => null): Promise<Relay> {
  const requests: Relay['requests'] = []
  const server: Server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming
    const entry = { method, path: url, bytes: 0 }
    requests.push(entry)
    const fault = chooseFault(method, url)
    const [hostname = '', port = ''] = registryHost.split(':')
    if (fault !== null && 'status' in fault) {
      incoming.resume()
      outgoing.writeHead(fault.status).end('unavailable')
      return
    }
    const upstream = request({ hostname, port, method, path: url, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers)
      response.pipe(outgoing)
    })
    upstream.on('error', () => outgoing.destroy())
    incoming.on('data', (chunk: Buffer) => {
      entry.bytes += chunk.length
      if (fault === null || entry.bytes <= fault.cutAfter) {
        upstream.write(chunk)
        return
      }
      outgoing.destroy()
      upstream.destroy()
    })
    incoming.on('end', () => upstream.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sentBytes: () => requests.reduce((sum, { bytes }) => sum + bytes, 0),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
