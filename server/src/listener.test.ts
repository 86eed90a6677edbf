import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { listen, type Listener } from './listener.ts'
import { until } from './testing/until.ts'

const open: Listener[] = []
const agents: Agent[] = []
afterEach(async () => {
  agents.splice(0).forEach((agent) => agent.destroy())
  await Promise.all(open.splice(0).map((listener) => listener.close()))
})

async function start(handler?: (req: IncomingMessage, res: ServerResponse) => void): Promise<Listener> {
  const listener = await listen(0, '127.0.0.1')
  open.push(listener)
  if (handler) listener.setHandlers({ request: handler })
  return listener
}

/** Returns a function that sends requests on one keep-alive connection. */
function client({ port }: Listener) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return (path = '/') =>
    new Promise<{ status: number; connection: string | undefined; body: string }>((done, failed) => {
      const sent = request({ port, host: '127.0.0.1', path, agent }, (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
        res.once('end', () => done({ status: res.statusCode ?? 0, connection: res.headers.connection, body }))
        res.once('error', failed)
      })
      sent.once('error', failed)
      sent.end()
    })
}

const isRefused = ({ port }: Listener) =>
  new Promise<void>((done, failed) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => done())
    socket.once('connect', () => {
      socket.destroy()
      failed(new Error('The port is still open'))
    })
  })

test('requests wait until there are handlers, but health checks do not', async () => {
  const listener = await start()
  const early = client(listener)('/early')
  expect(await client(listener)('/healthz')).toMatchObject({ status: 200 })
  expect(await client(listener)('/readyz')).toMatchObject({ status: 503, connection: 'close' })
  listener.setHandlers({ request: (req, res) => res.end(`answer to ${req.url}`) })
  expect(await early).toMatchObject({ status: 200, body: 'answer to /early' })
})

test('a drain completes requests in progress and the next one of an active connection, then closes them', async () => {
  const responses: ServerResponse[] = []
  const listener = await start((_, res) => void responses.push(res))
  const [busy, kept] = [client(listener), client(listener)]
  const underWay = busy()
  const before = kept()
  await until(() => expect(responses).toHaveLength(2))
  responses[1]?.end('before')
  expect(await before).toMatchObject({ body: 'before', connection: 'keep-alive' })

  const drained = listener.drain(10_000)
  await until(() => isRefused(listener))
  const next = kept()
  await until(() => expect(responses).toHaveLength(3))
  responses[0]?.end('was under way')
  responses[2]?.end('came just then')
  expect(await underWay).toMatchObject({ body: 'was under way', connection: 'close' })
  expect(await next).toMatchObject({ body: 'came just then', connection: 'close' })
  await drained
})

test('a drain closes an idle connection', async () => {
  const listener = await start((_, res) => res.end('ok'))
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  const ended = once(socket.resume(), 'end')
  const startedMs = performance.now()
  await listener.drain(10_000)
  await ended
  expect(performance.now() - startedMs).toBeLessThan(9_000)
})

test('a drain ends after its time limit, even with requests in progress', async () => {
  const listener = await start((_, res) => void res.write('for ever'))
  const endless = client(listener)()
  endless.catch(() => undefined)
  const drained = listener.drain(300)
  await expect(endless).rejects.toThrow()
  await drained
})
