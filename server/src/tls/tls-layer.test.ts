import type { ServerResponse } from 'node:http'
import { connect, constants } from 'node:http2'
import { createSecureContext } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../ports/listener.ts'
import { until } from '../testing/until.ts'
import { createSelfSigned } from './self-signed.ts'
import { createTlsLayer } from './tls-layer.ts'

const name = 'squids.shoal.test'

/** Opens a port whose requests are counted, and a function that connects to it over HTTP/2. */
async function openPort(options: Parameters<typeof createTlsLayer>[0] = {}) {
  const layer = createTlsLayer(options)
  const context = createSecureContext(await createSelfSigned(name))
  layer.setCertificates({ contextFor: async () => context, challengeFor: async () => null })
  const listener = await listen(0, '127.0.0.1', { layer })
  onTestFinished(() => listener.close())
  const counts = { requests: 0 }
  const responses: ServerResponse[] = []
  listener.setHandlers({
    request: ({ url }, res) => {
      counts.requests++
      responses.push(res)
      if (url === '/open') res.write('begins')
      else res.end('ok')
    },
  })
  const openSession = async () => {
    const session = connect(`https://127.0.0.1:${listener.port}`, { servername: name, rejectUnauthorized: false })
    onTestFinished(() => session.destroy())
    session.on('error', () => undefined)
    await new Promise((done) => session.once('connect', done))
    return session
  }
  return { layer, counts, responses, openSession }
}

test('a client that resets thousands of HTTP/2 streams is disconnected; others still work', async () => {
  const { layer, counts, openSession } = await openPort()
  const attacker = await openSession()
  for (let batch = 0; batch < 60 && !attacker.destroyed; batch++) {
    const streams = Array.from({ length: 50 }, () => attacker.request({ ':path': '/' }).on('error', () => undefined))
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
    await new Promise((done) => setImmediate(done))
  }
  await until(() => expect(layer.openConnections()).toBe(0))
  expect(counts.requests).toBeLessThan(2_000)
  const stream = (await openSession()).request({ ':path': '/' }).resume()
  expect(await new Promise((done) => stream.once('response', (head) => done(head[':status'])))).toBe(200)
})

test('a response over HTTP/2 is destroyed when its caller disconnects, as over HTTP/1.1', async () => {
  const { responses, openSession } = await openPort()
  const stream = (await openSession()).request({ ':path': '/open' }).on('error', () => undefined)
  await new Promise((done) => stream.once('response', done))
  expect(responses[0]?.destroyed).toBe(false)
  stream.close(constants.NGHTTP2_CANCEL)
  await until(() => expect(responses[0]?.destroyed).toBe(true))
})

test('a request over HTTP/2 whose body does not arrive in time is reset; a complete one may wait longer', async () => {
  const { counts, responses, openSession } = await openPort({ bodyMs: 100 })
  const session = await openSession()
  const post = () => session.request({ ':path': '/open', ':method': 'POST' }).on('error', () => undefined)
  const complete = post()
  complete.end('whole')
  const halfSent = post()
  halfSent.write('half')
  await until(() => expect(counts.requests).toBe(2))
  await new Promise((done) => halfSent.once('close', done))
  expect(halfSent.rstCode).toBe(constants.NGHTTP2_CANCEL)
  expect(responses.filter(({ destroyed }) => destroyed)).toHaveLength(1)
  expect([complete.destroyed, session.destroyed]).toEqual([false, false])
})
