import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { freePort } from './support/free-port.ts'
import { failureOf, startTimeline } from './support/timeline.ts'
import { until } from './support/until.ts'

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))))
})

/** Starts a server that treats each connection as given, and returns its URL. */
async function serve(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  const port = await freePort()
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  servers.push(server)
  return `http://127.0.0.1:${port}`
}

const failure = (url: string, limitMs = 60_000) =>
  fetch(url, { signal: AbortSignal.timeout(limitMs) }).then(({ status }) => `status ${status}`, failureOf)

test('a probe records how its request failed', async () => {
  expect(await failure(`http://127.0.0.1:${await freePort()}`)).toBe('refused')
  // `localhost` may have two addresses, whose errors `fetch` combines.
  expect(await failure(`http://localhost:${await freePort()}`)).toBe('refused')
  expect(await failure(await serve((socket) => socket.once('data', () => socket.resetAndDestroy())))).toBe('reset')
  expect(await failure(await serve((socket) => socket.once('data', () => socket.end())))).toBe('reset')
  expect(await failure(await serve(() => undefined), 300)).toBe('no response')
  expect(await failure('http://shoal.invalid')).toBe('unknown host')
  expect(failureOf(Object.assign(new Error('no route'), { code: 'EHOSTUNREACH' }))).toBe('no connection')
  expect(failureOf(new Error('broken'))).toBe('failed: broken')
})

test('the history has each kind of failure', async () => {
  const url = await serve((socket) => socket.once('data', () => socket.resetAndDestroy()))
  const { port } = new URL(url)
  const timeline = startTimeline({ probe: async (signal) => String((await fetch(url, { signal })).status) })
  timeline.markFault()
  await until(() => timeline.latest('probe') === 'reset', 'the probe has been reset')
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))))
  await until(() => timeline.latest('probe') === 'refused', `port ${port} is closed`)
  await timeline.stop()
  expect(timeline.history('probe')).toMatch(/^reset → refused at [\d.]+ s$/)
  expect(timeline.gap('probe', '200')).toMatchObject({ maxMs: 0 })
  expect(timeline.gap('probe', '200').failures).toBeGreaterThan(1)
})

test('the gap is the longest time without a good response', async () => {
  let result = '200'
  const timeline = startTimeline({ probe: () => Promise.resolve(result) })
  timeline.markFault()
  await until(() => timeline.latest('probe') === '200', 'the probe has responded')
  result = '503'
  const failedMs = performance.now()
  await until(() => timeline.gap('probe', '200').failures >= 3, 'three requests have failed')
  result = '200'
  const withinMs = performance.now() - failedMs
  await until(() => timeline.latest('probe') === '200', 'the probe responds again')
  await timeline.stop()
  const { failures, maxMs } = timeline.gap('probe', '200')
  expect(failures).toBeGreaterThanOrEqual(3)
  expect(maxMs).toBeGreaterThan(0)
  expect(maxMs).toBeLessThan(withinMs + 60_000)
})
