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

async function start(answer?: (req: IncomingMessage, res: ServerResponse) => void): Promise<Listener> {
  const listener = await listen(0, '127.0.0.1')
  open.push(listener)
  if (answer) listener.setHandlers({ request: answer })
  return listener
}

/** One connection that is kept alive. */
function caller({ port }: Listener) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return (path = '/') =>
    new Promise<{ status: number; connection: string | undefined; body: string }>((done, failed) => {
      const asked = request({ port, host: '127.0.0.1', path, agent }, (answer) => {
        let body = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
        answer.once('end', () => done({ status: answer.statusCode ?? 0, connection: answer.headers.connection, body }))
        answer.once('error', failed)
      })
      asked.once('error', failed)
      asked.end()
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

test('what is asked before anything can answer waits, and health is told', async () => {
  const listener = await start()
  const early = caller(listener)('/early')
  expect(await caller(listener)('/healthz')).toMatchObject({ status: 200 })
  expect(await caller(listener)('/readyz')).toMatchObject({ status: 503, connection: 'close' })
  listener.setHandlers({ request: (req, res) => res.end(`answer to ${req.url}`) })
  expect(await early).toMatchObject({ status: 200, body: 'answer to /early' })
})

test('a drain answers what is under way and the next request of a connection in use, and then it is closed', async () => {
  const answers: ServerResponse[] = []
  const listener = await start((_, res) => void answers.push(res))
  const [busy, kept] = [caller(listener), caller(listener)]
  const underWay = busy()
  const before = kept()
  await until(() => expect(answers).toHaveLength(2))
  answers[1]?.end('before')
  expect(await before).toMatchObject({ body: 'before', connection: 'keep-alive' })

  const drained = listener.drain(10_000)
  await until(() => isRefused(listener))
  const next = kept()
  await until(() => expect(answers).toHaveLength(3))
  answers[0]?.end('was under way')
  answers[2]?.end('came just then')
  expect(await underWay).toMatchObject({ body: 'was under way', connection: 'close' })
  expect(await next).toMatchObject({ body: 'came just then', connection: 'close' })
  await drained
})

test('a drain closes an idle connection', async () => {
  const listener = await start((_, res) => res.end('well'))
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  const ended = once(socket.resume(), 'end')
  const startedMs = performance.now()
  await listener.drain(10_000)
  await ended
  expect(performance.now() - startedMs).toBeLessThan(9_000)
})

test('a drain ends when its time is over, whatever goes on', async () => {
  const listener = await start((_, res) => void res.write('for ever'))
  const endless = caller(listener)()
  endless.catch(() => undefined)
  const drained = listener.drain(300)
  await expect(endless).rejects.toThrow()
  await drained
})
