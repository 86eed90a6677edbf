import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Received = { headers: Record<string, string>; body: string; path: string }

/** What takes webhooks, on loopback. */
export type Receiver = {
  url: string
  port: number
  /** In the order they came. */
  received: Received[]
  /** From now on, with the body read; 204 at first. */
  answer: (how: (response: ServerResponse, request: IncomingMessage) => void) => void
  close: () => Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let how: (response: ServerResponse, request: IncomingMessage) => void = (response) => response.writeHead(204).end()
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      received.push({ headers, body, path: request.url ?? '' })
      how(response, request)
    })
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    answer: (next) => void (how = next),
    close: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
