import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { openConnections } from '../testing/open-connections.ts'
import { until } from '../testing/until.ts'
import { openGatewayTestbed, type GatewayTestbed } from './testing/testbed.ts'

let bed: GatewayTestbed
beforeEach(async () => void (bed = await openGatewayTestbed()))
afterEach(async () => {
  for (const socket of openSockets.splice(0)) socket.terminate()
  await bed.close()
})

/** The WebSockets that the current test opened. */
const openSockets: WebSocket[] = []

const api = () => `${bed.url}/acme/test-squid@v1/api/graphql`
const json = { 'content-type': 'application/json' }
const query = { method: 'POST', headers: json, body: '{"query":"{ transfers { id } }"}' }
const mutation = { ...query, body: '{"query":"mutation { pay }"}' }

const gatewayConnections = () => openConnections(Number(new URL(bed.url).port))

/** Requests an upgrade, without ever closing the connection. */
function requestUpgrade(url: string) {
  const { hostname, port, pathname } = new URL(url)
  const caller = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  caller.on('error', () => {})
  caller.write(
    `GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  )
  return caller
}

const respond = (text: string) => (req: IncomingMessage, res: ServerResponse) => {
  req.resume()
  req.on('end', () => res.end(text))
}

describe('an update', () => {
  test('switches generations without failing a request', async () => {
    const squid = await bed.createVersion()
    const oldServer = await bed.serve(squid, respond('1'))
    const responses = new Map<string, number>()
    let isRunning = true
    const callers = Array.from({ length: 8 }, async () => {
      while (isRunning) {
        const response = await fetch(api(), query)
        const text = response.ok ? await response.text() : `${response.status} ${await response.text()}`
        responses.set(text, (responses.get(text) ?? 0) + 1)
      }
    })
    await until(() => expect(responses.get('1')).toBeGreaterThan(100))
    await bed.serve(squid, respond('2'), { generation: 2 })
    await bed.updateVersion(squid, { generation: 2 })
    await until(() => expect(responses.get('2')).toBeGreaterThan(100))
    await oldServer.close()
    const countBefore = responses.get('2') ?? 0
    await until(() => expect(responses.get('2')).toBeGreaterThan(countBefore + 100))
    isRunning = false
    await Promise.all(callers)
    expect([...responses.keys()].sort()).toEqual(['1', '2'])
  })

  test('is applied even if its notification was lost', async () => {
    await bed.close()
    // Less than the interval at which the gateway reads all routes again.
    bed = await openGatewayTestbed({}, { maxWaitMs: 15_000 })
    const squid = await bed.createVersion()
    const oldServer = await bed.serve(squid, respond('1'))
    expect(await (await fetch(api(), query)).text()).toBe('1')
    await bed.serve(squid, respond('2'), { generation: 2 })
    await bed.t.app.database.pool.query('update squids set generation = 2 where id = $1', [squid.id])
    await oldServer.close()
    expect(await (await fetch(api(), mutation)).text()).toBe('2')
  })
})

describe('replicas', () => {
  test('receive requests in turn', async () => {
    const squid = await bed.createVersion({ apis: [{}, {}, {}] })
    const counts = new Map<string, number>()
    for (const container of ['api', 'api-2', 'api-3']) await bed.serve(squid, respond(container), { container })
    for (let i = 0; i < 30; i++) {
      const name = await (await fetch(api(), query)).text()
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(Object.fromEntries(counts)).toEqual({ api: 10, 'api-2': 10, 'api-3': 10 })
  })

  test('that do not respond are skipped', async () => {
    const squid = await bed.createVersion({ apis: [{}, {}, {}] })
    await bed.serve(squid, respond('api-2'), { container: 'api-2' })
    const startedMs = performance.now()
    for (let i = 0; i < 50; i++) expect(await (await fetch(api(), mutation)).text()).toBe('api-2')
    expect(performance.now() - startedMs).toBeLessThan(5_000)
  })
})

describe('an interrupted request', () => {
  test.each([
    ['with a query', 2, query],
    ['with a mutation', 1, mutation],
    ['with text', 1, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ['by DELETE', 1, { method: 'DELETE' }],
    ['by GET', 2, {}],
  ])('%s is sent to the squid %i time(s)', async (_, expectedCount, init) => {
    const squid = await bed.createVersion()
    let received = 0
    await bed.serve(squid, (req) => {
      received++
      req.resume()
      req.on('end', () => req.socket.destroy())
    })
    const response = await fetch(api(), init)
    expect({ status: response.status, received }).toEqual({ status: 502, received: expectedCount })
    expect(await response.json()).toMatchObject({ code: 'BROKEN_OFF' })
  })

  test('whose response has already started ends the connection, so that the caller notices', async () => {
    const squid = await bed.createVersion()
    await bed.serve(squid, (_, res) => {
      res.writeHead(200, { 'content-length': 1000 })
      res.write('half')
      setImmediate(() => res.destroy())
    })
    await expect(fetch(api(), query).then((response) => response.text())).rejects.toThrow('terminated')
  })

  test('that the caller aborted closes the connection to the squid', async () => {
    const squid = await bed.createVersion()
    const { promise: disconnected, resolve } = Promise.withResolvers<void>()
    const { promise: started, resolve: markStarted } = Promise.withResolvers<void>()
    await bed.serve(squid, (req, res) => {
      res.writeHead(200).write('x')
      req.socket.once('close', () => resolve())
      markStarted()
    })
    const controller = new AbortController()
    const call = fetch(api(), { ...query, signal: controller.signal }).then((response) => response.text())
    await started
    controller.abort()
    await expect(call).rejects.toThrow('aborted')
    await disconnected
  })

  test('is rejected while the program has not responded to very many others', async () => {
    const strict = await openGatewayTestbed({}, { maxInFlight: 3 })
    onTestFinished(strict.close)
    const squid = await strict.createVersion()
    const waiting: ServerResponse[] = []
    await strict.serve(squid, (_, res) => void waiting.push(res))
    const url = `${strict.url}/acme/test-squid@v1/api/graphql`
    const responses = Array.from({ length: 3 }, () => fetch(url, query))
    await until(() => expect(waiting).toHaveLength(3))
    const rejected = await fetch(url, query)
    expect([rejected.status, await rejected.json()]).toMatchObject([503, { code: 'OVERLOADED' }])
    for (const res of waiting) res.end('done')
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([200, 200, 200])
    const next = fetch(url, query)
    await until(() => expect(waiting).toHaveLength(4))
    waiting[3]?.end('done')
    expect((await next).status).toBe(200)
  })

  test('of which the caller accepts nothing is ended, so that it does not occupy a connection to the squid', async () => {
    const strict = await openGatewayTestbed({}, { stallMs: 100 })
    onTestFinished(strict.close)
    const squid = await strict.createVersion()
    let isEnded = false
    await strict.serve(squid, (_, res) => {
      const chunk = Buffer.alloc(65_536)
      const fill = () => {
        while (res.write(chunk));
      }
      res.on('drain', fill).on('close', () => void (isEnded = true))
      fill()
    })
    const { hostname, port, pathname } = new URL(`${strict.url}/acme/test-squid@v1/api/graphql`)
    const caller = connect({ host: hostname, port: Number(port) }).on('error', () => {})
    onTestFinished(() => void caller.destroy())
    caller.pause().write(`GET ${pathname} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`)
    await until(() => expect(isEnded).toBe(true))
  })
})

describe('subscriptions', () => {
  /** A squid that echoes WebSocket messages. */
  async function serveEcho(path = '/graphql') {
    const squid = await bed.createVersion()
    const { server } = await bed.serve(squid, respond('over HTTP'))
    const sockets = new WebSocketServer({ server, path, handleProtocols: () => 'graphql-transport-ws' })
    sockets.on('connection', (socket, req) => {
      socket.send(`cookie ${req.headers.cookie ?? 'none'}, for ${String(req.headers['x-forwarded-for'])}`)
      socket.on('message', (data) => socket.send(data, { binary: false }))
    })
    return { squid, sockets }
  }

  const open = async (url: string) => {
    const received: string[] = []
    const socket = new WebSocket(url.replace('http', 'ws'), ['graphql-transport-ws'], { headers: { cookie: 'beta=1' } })
    openSockets.push(socket)
    socket.on('message', (data) => received.push(String(data)))
    await new Promise((done, failed) => {
      socket.once('open', done)
      socket.once('error', failed)
    })
    return { socket, received }
  }

  test('are forwarded, with their protocol and without cookies', async () => {
    await serveEcho()
    const { socket, received } = await open(api())
    expect(socket.protocol).toBe('graphql-transport-ws')
    const longMessage = 'x'.repeat(300_000)
    socket.send('hello')
    socket.send(longMessage)
    await until(() => expect(received).toEqual(['cookie none, for 127.0.0.1', 'hello', longMessage]))
    socket.close()
  })

  test('end when the squid or the client ends them', async () => {
    const { sockets } = await serveEcho()
    const first = await open(api())
    const closed = new Promise((done) => first.socket.once('close', done))
    for (const client of sockets.clients) client.terminate()
    await closed
    const second = await open(api())
    await until(() => expect(sockets.clients.size).toBe(1))
    second.socket.terminate()
    await until(() => expect(sockets.clients.size).toBe(0))
  })

  test('are limited for each organization, and a closed one is no longer counted', async () => {
    await bed.close()
    bed = await openGatewayTestbed({ env: { SHOAL_SQUID_SOCKETS_PER_ORG: '2' } })
    const { sockets } = await serveEcho()
    const [first] = [await open(api()), await open(api())]
    await expect(open(api())).rejects.toThrow('429')
    expect(sockets.clients.size).toBe(2)
    const other = await bed.t.make.org({ code: 'other' })
    const squid = await bed.createVersion({ name: 'of-other' }, other)
    const { server } = await bed.serve(squid, respond('over HTTP'))
    const otherSockets = new WebSocketServer({ server })
    await open(`${bed.url}/other/of-other@v1/api/graphql`)
    expect(otherSockets.clients.size).toBe(1)
    first.socket.terminate()
    await until(() => expect(sockets.clients.size).toBe(1))
    await open(api())
  })

  test('of callers that disappear without a message are detected by the kernel', async () => {
    await serveEcho()
    const countKeptAlive = () => gatewayConnections().filter(({ isKeptAlive }) => isKeptAlive).length
    const before = countKeptAlive()
    await open(api())
    expect(countKeptAlive()).toBe(before + 1)
  })

  test('that a squid rejects fail with its response', async () => {
    await serveEcho('/other')
    await expect(open(api())).rejects.toThrow('400')
  })

  test('without a running squid fail with an error from the gateway', async () => {
    await bed.createVersion()
    await expect(open(api())).rejects.toThrow('503')
    await expect(open(`${bed.url}/acme/unknown@v1/api/graphql`)).rejects.toThrow('404')
  })
})

describe('request counts', () => {
  const readCounts = async () => {
    const { rows } = await bed.t.app.database.pool.query<Record<string, string>>(
      `select sum(successes)::int as successes, sum(errors)::int as errors, sum(success_bytes)::int as bytes,
         (select sum(n)::int from ingress_minutes, unnest(histogram) n) as measured from ingress_minutes`,
    )
    return rows[0]
  }

  test('are exact across several gateways, and written when a gateway stops', async () => {
    const squid = await bed.createVersion()
    await bed.serve(squid, (req, res) => {
      req.resume()
      req.on('end', () => res.writeHead(req.url === '/bad' ? 400 : 200).end('12345'))
    })
    const second = await bed.startAnother()
    const send = async (base: string, path: string) =>
      (await fetch(`${base}/acme/test-squid@v1/${path}`, query)).arrayBuffer()
    const requests = Array.from({ length: 100 }, (_, i) => [
      send(i % 2 === 0 ? bed.url : second.url, 'api/graphql'),
      send(bed.url, 'processors/none/metrics'),
      ...(i % 10 === 0 ? [send(second.url, 'api/bad')] : []),
    ])
    await Promise.all(requests.flat())
    await second.gateway.close()
    await until(async () =>
      expect(await readCounts()).toEqual({ successes: 100, errors: 10, bytes: 500, measured: 100 }),
    )
  })

  test('distinguish failures of the squid from rejections and from callers that disconnect', async () => {
    const squid = await bed.createVersion()
    await bed.serve(squid, (req, res) => {
      if (req.url === '/missing') res.writeHead(404).end()
      else if (req.url === '/broken') res.writeHead(500).end()
      else if (req.url === '/cut') res.writeHead(200).write('begin', () => res.destroy())
      // `/endless` does not end until the caller disconnects.
      else res.writeHead(200).write('begin')
    })
    const send = (path: string, signal: AbortSignal | null = null) =>
      fetch(`${bed.url}/acme/test-squid@v1/api${path}`, { signal })
    for (const path of ['/missing', '/missing', '/broken', '/broken', '/broken']) await (await send(path)).arrayBuffer()
    await expect(send('/cut').then((response) => response.text())).rejects.toThrow()
    for (let i = 0; i < 5; i++) {
      const caller = new AbortController()
      const response = await send('/endless', caller.signal)
      await response.body?.getReader().read()
      caller.abort()
    }
    await until(async () => {
      const { rows } = await bed.t.app.database.pool.query(
        'select sum(errors)::int as errors, sum(failures)::int as failures from ingress_minutes',
      )
      expect(rows).toEqual([{ errors: 11, failures: 4 }])
    })
  })

  test('are kept while the database is unavailable', async () => {
    const squid = await bed.createVersion()
    await bed.serve(squid, respond('ok'))
    let warnings = 0
    Object.assign(bed.t.app.log, { warn: () => warnings++ })
    await bed.t.app.database.pool.query('alter table ingress_minutes rename to unavailable_minutes')
    for (let i = 0; i < 20; i++) await (await fetch(api(), query)).text()
    await until(() => expect(warnings).toBeGreaterThan(0))
    await bed.t.app.database.pool.query('alter table unavailable_minutes rename to ingress_minutes')
    await until(async () => expect(await readCounts()).toMatchObject({ successes: 20 }))
  })
})

test('a gateway stops immediately despite open connections', async () => {
  const squid = await bed.createVersion()
  await bed.serve(squid, (_, res) => void res.writeHead(200).write('endless'))
  const second = await bed.startAnother()
  const response = await fetch(`${second.url}/acme/test-squid@v1/api/`)
  const failure = response.text().catch((error: Error) => error.message)
  await second.gateway.close()
  expect(await failure).toContain('terminated')
})

test('if a squid rejects an upgrade and ends in the middle of its response, the connection of the caller ends', async () => {
  const squid = await bed.createVersion()
  await bed.serve(squid, (req, res) => {
    res.writeHead(403, { 'content-length': '100' })
    res.write('no', () => req.socket.destroy())
  })
  const caller = requestUpgrade(api())
  let received = ''
  caller.setEncoding('utf8').on('data', (text: string) => (received += text))
  const closed = new Promise<void>((done) => caller.on('end', () => done()).on('close', () => done()))
  await closed
  expect(received).toMatch(/^HTTP\/1.1 403 /)
}, 20_000)

test.each(['unknown@v1', 'test-squid@v1'])(
  'a caller whose upgrade to %s was rejected cannot keep the connection open',
  async (version) => {
    const squid = await bed.createVersion()
    await bed.serve(squid, (_, res) => void res.writeHead(403).end('no'))
    const before = gatewayConnections().length
    const caller = requestUpgrade(`${bed.url}/acme/${version}/api/graphql`)
    await new Promise((done) => caller.once('end', done).resume())
    expect(gatewayConnections().length).toBe(before + 1)
    await until(() => expect(gatewayConnections().length).toBe(before))
    caller.destroy()
  },
)

describe('a squid that sends informational responses without end', () => {
  beforeEach(async () => {
    const squid = await bed.createVersion()
    const { server } = await bed.serve(squid, () => {})
    const sendEndlessly = (socket: Duplex) => {
      const send = () => {
        if (!socket.destroyed) socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n', () => setImmediate(send))
      }
      socket.on('error', () => {})
      send()
    }
    server.on('connection', (socket) => socket.once('data', () => sendEndlessly(socket)))
  })

  test('is disconnected from its callers', async () => {
    expect(await (await fetch(api(), mutation)).json()).toMatchObject({ code: 'BROKEN_OFF' })
  })

  test('is disconnected from callers that want to open a WebSocket', async () => {
    await expect(
      new Promise((done, fail) => {
        new WebSocket(api().replace('http', 'ws')).once('open', done).once('error', fail)
      }),
    ).rejects.toThrow('502')
  })
})
