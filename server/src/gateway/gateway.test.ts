import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasuraPort, metricsPort } from '../modules/containers.ts'
import type { SquidRow } from '../modules/versions/index.ts'
import { until } from '../testing/until.ts'
import { openGatewayTestbed, type GatewayTestbed } from './testing/testbed.ts'

let bed: GatewayTestbed
beforeAll(async () => void (bed = await openGatewayTestbed()))
afterAll(() => bed.close())

type ReceivedRequest = { method: string; url: string; headers: Record<string, string>; body: string }

/** A squid that responds with the request it received. */
async function serveEcho(name: string, spec: { row?: Partial<SquidRow>; headers?: Record<string, string> } = {}) {
  const squid = await bed.createVersion({ name, ...(spec.row ? { row: spec.row } : {}) })
  await bed.serve(squid, (req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const received = {
        method: req.method,
        url: req.url,
        headers: req.headers,
        body: Buffer.concat(chunks).toString(),
      }
      res.writeHead(200, { 'content-type': 'application/json', ...spec.headers }).end(JSON.stringify(received))
    })
  })
  return squid
}

const fetchSquid = (path: string, init?: RequestInit) => fetch(`${bed.url}/acme/${path}`, init)
const fetchEchoed = async (path: string, init?: RequestInit) =>
  (await (await fetchSquid(path, init)).json()) as ReceivedRequest

describe('a request', () => {
  test('to /hasura reaches the replicas of Hasura in turn, and is refused with 404 if the version lacks the addon', async () => {
    const squid = await bed.createVersion({ name: 'with-hasura', row: { hasuraReplicas: 2 } })
    for (const container of ['hasura', 'hasura-2'])
      await bed.serve(squid, (req, res) => void res.end(`${container} ${req.url}`), { container, port: hasuraPort })
    const responses = await Promise.all(
      [1, 2].map(async () => (await fetchSquid('with-hasura@v1/hasura/v1/graphql')).text()),
    )
    expect(responses.toSorted()).toEqual(['hasura /v1/graphql', 'hasura-2 /v1/graphql'])
    await serveEcho('without-hasura')
    const refused = await fetchSquid('without-hasura@v1/hasura/v1/graphql')
    expect([refused.status, await refused.text()]).toEqual([404, expect.stringContaining('Hasura')])
  })

  test('reaches the api by slot and by tag, with any path below /api', async () => {
    const squid = await serveEcho('plain')
    await bed.t.app.database.pool.query("insert into squid_tags values ($1, 'plain', 'prod', $2)", [
      bed.org.id,
      squid.id,
    ])
    await bed.updateVersion(squid)
    await until(async () =>
      expect(await fetchEchoed('plain:prod/api/a?b=c')).toMatchObject({ method: 'GET', url: '/a?b=c' }),
    )
    for (const path of [
      'plain@v1/api/graphql',
      'plain%40v1/api/graphql',
      'plain:prod/api/graphql',
      'plain/graphql',
      'plain/v/v1/graphql',
    ])
      expect(await fetchEchoed(path, { method: 'POST', body: '{"query":"{a}"}' })).toMatchObject({
        method: 'POST',
        url: '/graphql',
        body: '{"query":"{a}"}',
      })
  })

  test('has its forwarding headers replaced, and cookies and hop-by-hop headers removed in both directions', async () => {
    await serveEcho('headers', {
      headers: {
        'set-cookie': 'a=b',
        'x-own': 'yes',
        connection: 'x-secret-hop',
        'x-secret-hop': '1',
        'clear-site-data': '"*"',
        nel: '{"report_to":"x","max_age":60,"success_fraction":1}',
        'report-to': '{"group":"x","max_age":60,"endpoints":[{"url":"https://attacker.example"}]}',
        'origin-agent-cluster': '?0',
        'service-worker-allowed': '/',
      },
    })
    const headers = {
      cookie: 'beta=1',
      authorization: 'Bearer x',
      'x-forwarded-for': '6.6.6.6',
      'x-forwarded-proto': 'https',
      forwarded: 'for=6.6.6.6',
    }
    const response = await fetchSquid('headers@v1/api/', { headers })
    expect(((await response.json()) as ReceivedRequest).headers).toEqual(
      expect.objectContaining({
        authorization: 'Bearer x',
        host: new URL(bed.url).host,
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-host': new URL(bed.url).host,
        'x-forwarded-proto': 'http',
      }),
    )
    const received = (await fetchEchoed('headers@v1/api/', { headers })).headers
    for (const name of ['cookie', 'forwarded']) expect(received).not.toHaveProperty(name)
    expect(response.headers.get('x-own')).toBe('yes')
    const dropped = ['set-cookie', 'x-secret-hop', 'clear-site-data', 'service-worker-allowed']
    for (const name of [...dropped, 'nel', 'report-to', 'origin-agent-cluster'])
      expect(response.headers.get(name)).toBeNull()
  })

  test('streams in both directions without buffering', async () => {
    const squid = await bed.createVersion({ name: 'streams' })
    await bed.serve(squid, (req, res) => {
      res.writeHead(200)
      req.on('data', (chunk: Buffer) => res.write(chunk))
      req.on('end', () => res.end('end'))
    })
    const call = request(`${bed.url}/acme/streams@v1/api/`, { method: 'POST', agent: false })
    call.write('one')
    const response = await new Promise<IncomingMessage>((done) => call.once('response', done))
    const nextChunk = () =>
      new Promise<string>((done) => response.once('data', (chunk: Buffer) => done(chunk.toString())))
    expect(await nextChunk()).toBe('one')
    // The request was still open when the first chunk was echoed, so the gateway did not buffer it.
    call.write('two')
    expect(await nextChunk()).toBe('two')
    call.end()
    expect(await nextChunk()).toBe('end')
  })

  test('may be large, in both directions', async () => {
    const squid = await bed.createVersion({ name: 'large' })
    await bed.serve(squid, (req, res) => void req.pipe(res.writeHead(200)))
    const body = Buffer.alloc(20_000_000, 'shoal')
    const response = await fetchSquid('large@v1/api/', { method: 'POST', body })
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true)
  })

  test('to a processor reaches only its metrics', async () => {
    const squid = await bed.createVersion({ name: 'metrics', processors: { eth: {} } })
    await bed.serve(squid, (req, res) => res.end(`metrics of ${req.url}`), { container: 'eth', port: metricsPort })
    await until(async () =>
      expect(await (await fetchSquid('metrics@v1/processors/eth/metrics?a=1')).text()).toBe('metrics of /metrics?a=1'),
    )
    expect((await fetchSquid('metrics@v1/processors/bsc/metrics')).status).toBe(404)
    expect((await fetchSquid('metrics@v1/processors/eth/other')).status).toBe(404)
  })

  test('that is malformed is rejected before it reaches a squid', async () => {
    await serveEcho('smuggled')
    const sendRaw = (text: string) =>
      new Promise<string>((done) => {
        let response = ''
        const socket = connect(Number(new URL(bed.url).port), '127.0.0.1', () => socket.write(text))
        socket.on('data', (chunk) => (response += chunk.toString()))
        socket.on('close', () => done(response))
        socket.on('error', () => done(response))
      })
    const requestStart = 'POST /acme/smuggled@v1/api/ HTTP/1.1\r\nhost: x\r\n'
    const attempts = [
      `${requestStart}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n`,
      `${requestStart}content-length: 5\r\ncontent-length: 6\r\n\r\nhello`,
      `${requestStart}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
      `${requestStart}x: a\r\n b\r\n content-length: 3\r\nbad header\r\n\r\n`,
      `GET /acme/smuggled@v1/api/ HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
    ]
    for (const attempt of attempts) expect(await sendRaw(attempt)).toMatch(/^HTTP\/1\.1 4\d\d [^]*$/)
  })
})

describe('errors from the gateway are JSON', () => {
  const fetchError = async (path: string) => {
    const response = await fetchSquid(path)
    const { error, code } = (await response.json()) as { error: string; code: string }
    return {
      status: response.status,
      code,
      error,
      retryAfter: response.headers.get('retry-after'),
      cors: response.headers.get('access-control-allow-origin'),
    }
  }

  test('404 for unknown squids and programs', async () => {
    expect(await fetchError('unknown@v1/api/graphql')).toMatchObject({
      status: 404,
      code: 'SQUID_NOT_FOUND',
      cors: '*',
    })
    expect(await fetchError('unknown@v1/graphql')).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      error: expect.stringContaining('/api/graphql'),
    })
    await bed.createVersion({ name: 'no-api', apis: [] })
    await until(async () =>
      expect(await fetchError('no-api@v1/api/graphql')).toMatchObject({ status: 404, error: 'no-api@v1 has no api.' }),
    )
  })

  test('503 with the reason while a version is starting, hibernated or not deployed', async () => {
    await bed.createVersion({ name: 'starting' })
    await bed.createVersion({ name: 'hibernated', row: { desiredState: 'hibernated' } })
    await bed.createVersion({ name: 'not-deployed', row: { image: null } })
    await until(async () =>
      expect(await fetchError('hibernated@v1/api/graphql')).toMatchObject({
        status: 503,
        code: 'HIBERNATED',
        retryAfter: '60',
      }),
    )
    expect(await fetchError('starting@v1/api/graphql')).toMatchObject({
      status: 503,
      code: 'NOT_ANSWERING',
      retryAfter: '5',
    })
    expect(await fetchError('not-deployed@v1/api/graphql')).toMatchObject({
      status: 503,
      code: 'NOT_DEPLOYED',
      retryAfter: '5',
    })
  })

  test('404 as soon as a squid is deleted', async () => {
    const squid = await serveEcho('deleted')
    await bed.t.app.database.pool.query('delete from squids where id = $1', [squid.id])
    await bed.updateVersion(squid)
    await until(async () => expect(await fetchError('deleted@v1/api/')).toMatchObject({ status: 404 }))
  })
})

describe('deploy.cors of the manifest', () => {
  const cors = (rules: object) => ({ row: { manifestCurrent: { deploy: { cors: rules } } } })
  const origin = 'https://app.example.com'

  test('replaces the CORS headers of the squid', async () => {
    const rules = {
      allow_origin: [origin],
      allow_methods: 'POST, GET',
      allow_headers: ['x-a'],
      expose_headers: 'x-b',
      allow_credentials: true,
      max_age: 60,
    }
    await serveEcho('cors', { ...cors(rules), headers: { 'access-control-allow-origin': 'https://other.example.com' } })
    const response = await fetchSquid('cors@v1/api/', { headers: { origin } })
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers': 'x-b',
    })
    const headers = { origin, 'access-control-request-method': 'POST' }
    const preflight = await fetchSquid('cors@v1/api/', { method: 'OPTIONS', headers })
    expect(preflight.status).toBe(204)
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'POST, GET',
      'access-control-allow-headers': 'x-a',
      'access-control-max-age': '60',
    })
    const otherOrigin = await fetchSquid('cors@v1/api/', { headers: { origin: 'https://evil.example.com' } })
    expect(otherOrigin.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('does not change the CORS headers of the squid when it is not set', async () => {
    await serveEcho('own-cors', { headers: { 'access-control-allow-origin': '*' } })
    const response = await fetchSquid('own-cors@v1/api/', { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
  })
})

test('a gateway reports liveness and readiness', async () => {
  expect((await fetch(`${bed.url}/healthz`)).status).toBe(200)
  expect(await (await fetch(`${bed.url}/readyz`)).json()).toMatchObject({ checks: { database: 'ok' } })
})
