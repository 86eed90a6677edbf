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
const ofOrg = endpoint({
  method: 'GET',
  path: '/v1/orgs/{code}/lines',
  access: 'member',
  scope: 'read',
  summary: 'Returns lines of an organization',
  kind: 'lines',
  payload: z.string(),
})
const areas = { large: { ofOrg, json: declare('json'), lines: declare('lines'), file: declare('file') } }

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
  const gate = { waiting: 0, isClosed: false, open: () => {} }
  const { promise: opened, resolve } = Promise.withResolvers<void>()
  gate.open = resolve
  const lines = async function* () {
    for (;;) yield [text]
  }
  const handlers = {
    json: async () => text,
    lines: async () => {
      gate.waiting += 1
      if (gate.isClosed) await opened
      return lines()
    },
    ofOrg: async () => lines(),
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
  return { url, port, counts, gate, requestUnread, read }
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

test('a user and an organization may have only a limited number of streams of lines', async () => {
  const { url, read } = await serve({ lineStreams: { user: 2, org: 3 } })
  const org = await t.make.org()
  const members = [org.admin, await t.make.member(org, 'viewer')]
  const open = async (token: string, code = org.code) => {
    const abort = new AbortController()
    onTestFinished(() => abort.abort())
    const headers = { authorization: `token ${token}` }
    const { status } = await fetch(`${url}/api/v1/orgs/${code}/lines`, { headers, signal: abort.signal })
    return { status, close: () => abort.abort() }
  }
  const [one = '', two = ''] = members.map(({ token }) => token)
  const streams = [await open(one), await open(one), await open(one), await open(two), await open(two)]
  expect(streams.map(({ status }) => status)).toEqual([200, 200, 429, 200, 429])
  const rejected = await read('lines', one)
  expect([rejected.status, await rejected.json()]).toMatchObject([429, { code: 'TOO_MANY_STREAMS' }])
  const other = await t.make.org()
  expect((await open(other.admin.token, other.code)).status).toBe(200)
  streams[0]?.close()
  await until(async () => expect((await open(two)).status).toBe(200))
})

test('a caller that disconnects before its response begins uses no memory and no stream', async () => {
  const { port, gate, read, requestUnread } = await serve({ capacityBytes: 300_000, lineStreams: { user: 1, org: 1 } })
  gate.isClosed = true
  const socket = requestUnread('lines')
  await until(() => expect(gate.waiting).toBe(1))
  socket.destroy()
  await until(() => expect(openConnections(port)).toHaveLength(0))
  gate.open()
  await until(async () => {
    const response = await read('lines')
    await response.body?.cancel()
    expect(response.status).toBe(200)
  })
})
