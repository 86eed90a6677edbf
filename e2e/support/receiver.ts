import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Received = { headers: Record<string, string>; body: string }

/** A server that receives webhooks. */
export type Receiver = {
  url: string
  /** The received requests, oldest first. */
  received: Received[]
  /** Sets the HTTP status of all further responses, which is initially 204. */
  respondWith: (status: number) => void
  close: () => Promise<void>
}

/** Starts a receiver on loopback. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let status = 204
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ headers, body })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    respondWith: (newStatus) => void (status = newStatus),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
