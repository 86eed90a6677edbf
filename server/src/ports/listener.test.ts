import { once } from 'node:events'
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { listen, type Listener } from './listener.ts'
import { until } from '../testing/until.ts'

const openListeners: Listener[] = []
const agents: Agent[] = []
afterEach(async () => {
  agents.splice(0).forEach((agent) => agent.destroy())
  await Promise.all(openListeners.splice(0).map((listener) => listener.close()))
})

async function startListener(handler?: (req: IncomingMessage, res: ServerResponse) => void): Promise<Listener> {
  const listener = await listen(0, '127.0.0.1')
  openListeners.push(listener)
  if (handler) listener.setHandlers({ request: handler })
  return listener
}

/** Returns a function that sends requests on one keep-alive connection. */
function createClient({ port }: Listener) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agents.push(agent)
  return (path = '/') =>
    new Promise<{ status: number; connection: string | undefined; body: string }>((done, failed) => {
      const clientRequest = request({ port, host: '127.0.0.1', path, agent }, (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
        res.once('end', () => done({ status: res.statusCode ?? 0, connection: res.headers.connection, body }))
        res.once('error', failed)
      })
      clientRequest.once('error', failed)
      clientRequest.end()
    })
}

const expectRefused = ({ port }: Listener) =>
  new Promise<void>((done, failed) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => done())
    socket.once('connect', () => {
      socket.destroy()
      failed(new Error('The port is still open'))
    })
  })

test('requests wait until there are handlers, but health checks do not', async () => {
  const listener = await startListener()
  const early = createClient(listener)('/early')
  expect(await createClient(listener)('/healthz')).toMatchObject({ status: 200 })
  expect(await createClient(listener)('/readyz')).toMatchObject({ status: 503, connection: 'close' })
  listener.setHandlers({ request: (req, res) => res.end(`response to ${req.url}`) })
  expect(await early).toMatchObject({ status: 200, body: 'response to /early' })
})

test('hundreds of requests whose bodies never end do not delay others', async () => {
  const listener = await startListener((req, res) => void req.resume().on('end', () => res.end('complete')))
  const sockets = Array.from({ length: 300 }, () => connect(listener.port, '127.0.0.1'))
  try {
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    for (const socket of sockets)
      socket.on('error', () => undefined).write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nslow')
    expect(await createClient(listener)('/')).toMatchObject({ status: 200, body: 'complete' })
    expect(await createClient(listener)('/healthz')).toMatchObject({ status: 200 })
  } finally {
    for (const socket of sockets) socket.destroy()
  }
})

test.each([
  ['40 kB of headers', `X: ${'x'.repeat(40_000)}\r\n`, 431],
  ['3,000 headers', 'X: x\r\n'.repeat(3_000), 431],
  ['Content-Length and Transfer-Encoding', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', 400],
  ['two lengths', 'Content-Length: 4\r\nContent-Length: 5\r\n', 400],
])('a request with %s is rejected before a handler receives it', async (_, headers, status) => {
  const received: (string | undefined)[] = []
  const listener = await startListener((req, res) => {
    received.push(req.url)
    res.end()
  })
  const socket = connect(listener.port, '127.0.0.1').setEncoding('utf8')
  socket.write(`POST /hostile HTTP/1.1\r\nHost: x\r\n${headers}\r\n`)
  const [text] = (await once(socket, 'data')) as [string]
  socket.destroy()
  expect([text.split(' ')[1], received]).toEqual([String(status), []])
})

test('when a client disconnects, the responses to all of its pipelined requests are closed', async () => {
  const open = new Set<ServerResponse>()
  let received = 0
  const listener = await startListener((_, res) => {
    received += 1
    open.add(res)
    res.on('close', () => open.delete(res)).write('begins')
  })
  const client = connect(listener.port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(3))
  await until(() => expect(received).toBe(3))
  const responses = [...open]
  client.destroy()
  await until(() => expect(open.size).toBe(0))
  expect(responses.map((res) => res.destroyed)).toEqual([true, true, true])
})

test('a client with too many pipelined requests is disconnected', async () => {
  let received = 0
  const listener = await startListener(() => void (received += 1))
  const client = connect(listener.port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(500))
  await once(client, 'close')
  expect(received).toBeLessThan(200)
})

test('a drain completes requests in progress and the next request of an active connection, then closes the connections', async () => {
  const responses: ServerResponse[] = []
  const listener = await startListener((_, res) => void responses.push(res))
  const [busyClient, keepAliveClient] = [createClient(listener), createClient(listener)]
  const inProgress = busyClient()
  const firstResponse = keepAliveClient()
  await until(() => expect(responses).toHaveLength(2))
  responses[1]?.end('before')
  expect(await firstResponse).toMatchObject({ body: 'before', connection: 'keep-alive' })

  const drained = listener.drain(10_000)
  await until(() => expectRefused(listener))
  const nextResponse = keepAliveClient()
  await until(() => expect(responses).toHaveLength(3))
  responses[0]?.end('was in progress')
  responses[2]?.end('arrived during the drain')
  expect(await inProgress).toMatchObject({ body: 'was in progress', connection: 'close' })
  expect(await nextResponse).toMatchObject({ body: 'arrived during the drain', connection: 'close' })
  await drained
})

test('a drain closes an idle connection', async () => {
  const listener = await startListener((_, res) => res.end('ok'))
  const socket = connect(listener.port, '127.0.0.1')
  await once(socket, 'connect')
  const ended = once(socket.resume(), 'end')
  const startedMs = performance.now()
  await listener.drain(60_000)
  await ended
  expect(performance.now() - startedMs).toBeLessThan(30_000)
})

test('a drain ends after its timeout, even with requests in progress', async () => {
  const listener = await startListener((_, res) => void res.write('for ever'))
  const endless = createClient(listener)()
  endless.catch(() => undefined)
  const drained = listener.drain(300)
  await expect(endless).rejects.toThrow()
  await drained
})

test('a listener on 127.0.0.1 also listens on ::1, and fails if another program uses that port', async () => {
  const listener = await startListener((_, res) => res.end('this server'))
  const response = await fetch(`http://[::1]:${listener.port}/`)
  expect(await response.text()).toBe('this server')
  await listener.close()
  openListeners.length = 0
  const other = createServer((_, res) => res.end('another program'))
  await once(other.listen({ port: 0, host: '::1', ipv6Only: true }), 'listening')
  const { port } = other.address() as AddressInfo
  await expect(listen(port, '127.0.0.1')).rejects.toMatchObject({ code: 'EADDRINUSE', address: '::1' })
  // The failed call no longer listens on 127.0.0.1.
  await once(connect(port, '::1'), 'connect')
  await expectRefused({ port } as Listener)
  other.closeAllConnections()
  other.close()
})
