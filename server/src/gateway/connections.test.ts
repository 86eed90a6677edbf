import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { until } from '../testing/until.ts'
import { openGatewayBed, type GatewayBed } from './testing/testbed.ts'

let bed: GatewayBed
beforeEach(async () => void (bed = await openGatewayBed()))
afterEach(() => bed.close())

const api = () => `${bed.url}/acme/test-squid@v1/api/graphql`
const json = { 'content-type': 'application/json' }
const query = { method: 'POST', headers: json, body: '{"query":"{ transfers { id } }"}' }
const mutation = { ...query, body: '{"query":"mutation { pay }"}' }

const respond = (text: string) => (req: IncomingMessage, res: ServerResponse) => {
  req.resume()
  req.on('end', () => res.end(text))
}

describe('an update', () => {
  test('from one generation to the next fails no request', async () => {
    const squid = await bed.version()
    const old = await bed.serve(squid, respond('1'))
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
    await bed.change(squid, { generation: 2 })
    await until(() => expect(responses.get('2')).toBeGreaterThan(100))
    await old.close()
    const before = responses.get('2') ?? 0
    await until(() => expect(responses.get('2')).toBeGreaterThan(before + 100))
    isRunning = false
    await Promise.all(callers)
    expect([...responses.keys()].sort()).toEqual(['1', '2'])
  })

  test('is applied although its notification was lost', async () => {
    const squid = await bed.version()
    const old = await bed.serve(squid, respond('1'))
    expect(await (await fetch(api(), query)).text()).toBe('1')
    await bed.serve(squid, respond('2'), { generation: 2 })
    await bed.t.app.database.pool.query('update squids set generation = 2 where id = $1', [squid.id])
    await old.close()
    expect(await (await fetch(api(), mutation)).text()).toBe('2')
  })
})

describe('replicas', () => {
  test('are used by round robin', async () => {
    const squid = await bed.version({ apis: [{}, {}, {}] })
    const counts = new Map<string, number>()
    for (const container of ['api', 'api-2', 'api-3']) await bed.serve(squid, respond(container), { container })
    for (let i = 0; i < 30; i++) {
      const name = await (await fetch(api(), query)).text()
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    expect(Object.fromEntries(counts)).toEqual({ api: 10, 'api-2': 10, 'api-3': 10 })
  })

  test('that do not respond are skipped', async () => {
    const squid = await bed.version({ apis: [{}, {}, {}] })
    await bed.serve(squid, respond('api-2'), { container: 'api-2' })
    const startedMs = performance.now()
    for (let i = 0; i < 50; i++) expect(await (await fetch(api(), mutation)).text()).toBe('api-2')
    expect(performance.now() - startedMs).toBeLessThan(2_000)
  })
})

describe('an interrupted request', () => {
  test.each([
    ['a query', query, 2],
    ['a mutation', mutation, 1],
    ['something else', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }, 1],
    ['a deletion', { method: 'DELETE' }, 1],
    ['a GET', {}, 2],
  ])('%s', async (_, init, sendings) => {
    const squid = await bed.version()
    let received = 0
    await bed.serve(squid, (req) => {
      received++
      req.resume()
      req.on('end', () => req.socket.destroy())
    })
    const response = await fetch(api(), init)
    expect({ status: response.status, received }).toEqual({ status: 502, received: sendings })
    expect(await response.json()).toMatchObject({ code: 'BROKEN_OFF' })
  })

  test('in the middle of its response ends the connection, so that the caller notices', async () => {
    const squid = await bed.version()
    await bed.serve(squid, (_, res) => {
      res.writeHead(200, { 'content-length': 1000 })
      res.write('half')
      setImmediate(() => res.destroy())
    })
    await expect(fetch(api(), query).then((response) => response.text())).rejects.toThrow('terminated')
  })

  test('by the caller closes the connection to the squid', async () => {
    const squid = await bed.version()
    const { promise: disconnected, resolve } = Promise.withResolvers<void>()
    const { promise: began, resolve: begin } = Promise.withResolvers<void>()
    await bed.serve(squid, (req, res) => {
      res.writeHead(200).write('x')
      req.socket.once('close', () => resolve())
      begin()
    })
    const stop = new AbortController()
    const call = fetch(api(), { ...query, signal: stop.signal }).then((response) => response.text())
    await began
    stop.abort()
    await expect(call).rejects.toThrow('aborted')
    await disconnected
  })
})

describe('subscriptions', () => {
  /** A squid that echoes WebSocket messages. */
  async function serveEcho(path = '/graphql') {
    const squid = await bed.version()
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
    const long = 'x'.repeat(300_000)
    socket.send('hello')
    socket.send(long)
    await until(() => expect(received).toEqual(['cookie none, for 127.0.0.1', 'hello', long]))
    socket.close()
  })

  test('end when the squid or the client ends them', async () => {
    const { sockets } = await serveEcho()
    const one = await open(api())
    const closed = new Promise((done) => one.socket.once('close', done))
    for (const client of sockets.clients) client.terminate()
    await closed
    const other = await open(api())
    await until(() => expect(sockets.clients.size).toBe(1))
    other.socket.terminate()
    await until(() => expect(sockets.clients.size).toBe(0))
  })

  test('that a squid refuses get its own response', async () => {
    await serveEcho('/elsewhere')
    await expect(open(api())).rejects.toThrow('400')
  })

  test('without a running squid get an error of the gateway', async () => {
    await bed.version()
    await expect(open(api())).rejects.toThrow('503')
    await expect(open(`${bed.url}/acme/unknown@v1/api/graphql`)).rejects.toThrow('404')
  })
})

describe('counts', () => {
  const counted = async () => {
    const { rows } = await bed.t.app.database.pool.query<Record<string, string>>(
      `select sum(successes)::int as successes, sum(errors)::int as errors, sum(success_bytes)::int as bytes,
         (select sum(n)::int from ingress_minutes, unnest(histogram) n) as measured from ingress_minutes`,
    )
    return rows[0]
  }

  test('are exact over several gateways, and written when they stop', async () => {
    const squid = await bed.version()
    await bed.serve(squid, (req, res) => {
      req.resume()
      req.on('end', () => res.writeHead(req.url === '/bad' ? 400 : 200).end('12345'))
    })
    const second = await bed.another()
    const send = async (base: string, path: string) =>
      (await fetch(`${base}/acme/test-squid@v1/${path}`, query)).arrayBuffer()
    const all = Array.from({ length: 100 }, (_, i) => [
      send(i % 2 === 0 ? bed.url : second.url, 'api/graphql'),
      send(bed.url, 'processors/none/metrics'),
      ...(i % 10 === 0 ? [send(second.url, 'api/bad')] : []),
    ])
    await Promise.all(all.flat())
    await second.gateway.close()
    await until(async () => expect(await counted()).toEqual({ successes: 100, errors: 10, bytes: 500, measured: 100 }))
  })

  test('are kept while the database is unavailable', async () => {
    const squid = await bed.version()
    await bed.serve(squid, respond('ok'))
    let warnings = 0
    Object.assign(bed.t.app.log, { warn: () => warnings++ })
    await bed.t.app.database.pool.query('alter table ingress_minutes rename to away')
    for (let i = 0; i < 20; i++) await (await fetch(api(), query)).text()
    await until(() => expect(warnings).toBeGreaterThan(0))
    await bed.t.app.database.pool.query('alter table away rename to ingress_minutes')
    await until(async () => expect(await counted()).toMatchObject({ successes: 20 }))
  })
})

test('a gateway stops immediately despite open connections', async () => {
  const squid = await bed.version()
  await bed.serve(squid, (_, res) => void res.writeHead(200).write('for ever'))
  const second = await bed.another()
  const response = await fetch(`${second.url}/acme/test-squid@v1/api/`)
  const broken = response.text().catch((error: Error) => error.message)
  await second.gateway.close()
  expect(await broken).toContain('terminated')
})
