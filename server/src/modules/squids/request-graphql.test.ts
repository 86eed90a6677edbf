import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { requestGraphql } from './request-graphql.ts'

async function requestFrom(respond: RequestListener): Promise<Record<string, unknown>> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return await requestGraphql(`http://127.0.0.1:${port}/`, { query: '{ a }' }, new AbortController().signal)
}

test('returns the JSON object with which the squid responds', async () => {
  expect(await requestFrom((_req, res) => res.end('{"data":{"a":1}}'))).toEqual({ data: { a: 1 } })
})

const notResponding = { status: 502, body: { code: 'SQUID_NOT_ANSWERING' } }

test.each<[fault: string, respond: RequestListener, error: object]>([
  ['closes the connection', (_req, res) => res.destroy(), notResponding],
  [
    'closes the connection in the middle of its response',
    (_req, res) => res.writeHead(200, { 'content-length': 100 }).write('{', () => res.destroy()),
    notResponding,
  ],
  ['responds with an array', (_req, res) => res.end('[]'), notResponding],
  ['redirects', (_req, res) => res.writeHead(307, { location: 'http://127.0.0.1/' }).end(), notResponding],
  [
    'responds with more than 2 MB',
    (_req, res) => res.end(JSON.stringify({ data: 'x'.repeat(2_100_000) })),
    { status: 502, body: { code: 'ANSWER_TOO_LARGE' } },
  ],
])('a squid that %s causes an error 502', async (_fault, respond, error) => {
  await expect(requestFrom(respond)).rejects.toMatchObject(error)
})
