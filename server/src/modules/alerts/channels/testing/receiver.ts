import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A request as it was received. `path` includes the query. */
export type ReceivedRequest = { headers: Record<string, string>; body: string; path: string }

/** An HTTP server on loopback that records the webhooks it receives. */
export type Receiver = {
  url: string
  port: number
  /** The requests, in the order of arrival. */
  received: ReceivedRequest[]
  /** Replaces the handler of later requests. A handler is called after the body was read; the initial one returns 204. */
  onRequest: (handler: (response: ServerResponse, request: IncomingMessage) => void) => void
  close: () => Promise<void>
}

/** Starts a receiver on a free port. */
export async function startReceiver(): Promise<Receiver> {
  const received: ReceivedRequest[] = []
  let handler: (response: ServerResponse, request: IncomingMessage) => void = (response) =>
    response.writeHead(204).end()
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ headers, body, path: request.url ?? '' })
      handler(response, request)
    })
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    onRequest: (next) => void (handler = next),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
