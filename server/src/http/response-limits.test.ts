import { endpoint } from '@shoal/contract'
import Fastify from 'fastify'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { openConnections } from '../testing/open-connections.ts'
import { startTestApp, type TestApp, type TestUser } from '../testing/index.ts'
import { until } from '../testing/until.ts'
import { errorBody, mount } from './mount.ts'
import type { ResponseLimitOptions } from './response-limits.ts'

let t: TestApp
let user: TestUser
beforeAll(async () => {
  t = await startTestApp()
  user = await t.make.user()
})
afterAll(() => t?.close())

const declare = <const K extends 'json' | 'lines' | 'file'>(kind: K) =>
  endpoint({
    method: 'GET',
    path: `/v1/large/${kind}`,
    access: 'user',
    scope: 'read',
    summary: 'Returns very much',
    kind,
    payload: z.string(),
  })
const areas = { large: { json: declare('json'), lines: declare('lines'), file: declare('file') } }

/** More than the kernel buffers for a caller that does not read. */
const text = 'x'.repeat(20_000_000)

/** Serves large responses. Returns the port, and functions that request one without reading it, and with reading it. */
async function serve(options: ResponseLimitOptions) {
  const server = Fastify()
  onTestFinished(() => server.close())
  server.setErrorHandler((error, request, reply) => {
    const { status, body } = errorBody(error, request.id)
    return reply.code(status).send(body)
  })
  const counts = { served: 0 }
  const lines = async function* () {
    for (;;) yield [text]
  }
  const handlers = {
    json: async () => text,
    lines: async () => lines(),
    file: async () => {
      counts.served += 1
      return { contentType: 'text/plain', body: text }
    },
  }
  mount(server, t.app, areas, { large: handlers }, options)
  const url = await server.listen({ port: 0, host: '127.0.0.1' })
  const port = Number(new URL(url).port)
  const requestUnread = (kind: string, token = user.token) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    onTestFinished(() => void socket.destroy())
    socket.pause().write(`GET /api/v1/large/${kind} HTTP/1.1\r\nhost: a\r\nauthorization: token ${token}\r\n\r\n`)
    return socket
  }
  const read = (kind: string, token = user.token) =>
    fetch(`${url}/api/v1/large/${kind}`, { headers: { authorization: `token ${token}`, 'accept-encoding': 'br' } })
  return { port, counts, requestUnread, read }
}

test.each(['json', 'lines', 'file'])(
  'a response of the kind %s of which the caller accepts nothing is ended',
  async (kind) => {
    const { port, requestUnread } = await serve({ stallMs: 200 })
    requestUnread(kind)
    await until(() => expect(openConnections(port)).toHaveLength(1))
    await until(() => expect(openConnections(port)).toHaveLength(0))
  },
)

test('a large response that the caller reads arrives completely', async () => {
  const { read } = await serve({})
  expect(await (await read('file')).text()).toHaveLength(text.length)
  expect(await (await read('json')).json()).toEqual({ payload: text })
})

test('large responses that their callers do not read take a fair part of the memory', async () => {
  const { port, counts, requestUnread, read } = await serve({ capacityBytes: 50_000_000 })
  const unread = [requestUnread('file'), requestUnread('file')]
  await until(() => expect(counts.served).toBe(2))
  const rejected = await read('file')
  expect([rejected.status, rejected.headers.get('content-type'), await rejected.json()]).toMatchObject([
    429,
    expect.stringContaining('application/json'),
    { code: 'TOO_MANY_CONCURRENT_REQUESTS' },
  ])

  const other = await t.make.user()
  const before = openConnections(port).length
  const response = await read('file', other.token)
  expect([response.status, (await response.text()).length]).toEqual([200, text.length])
  // The other caller's connection is still open, and one of the unread ones was closed for it.
  await until(() => expect(openConnections(port).length).toBeLessThanOrEqual(before))

  for (const socket of unread) socket.destroy()
  await until(async () => expect((await (await read('file')).text()).length).toBe(text.length))
})
