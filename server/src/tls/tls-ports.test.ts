import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { get, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { createGateway } from '../gateway/gateway.ts'
import { openGatewayTestbed, type GatewayTestbed } from '../gateway/testing/testbed.ts'
import { openConnections } from '../testing/open-connections.ts'
import { until } from '../testing/until.ts'
import { createSelfSigned } from './self-signed.ts'
import { openTlsPorts, type TlsPorts } from './index.ts'

const consoleName = 'console.shoal.test'
const gatewayName = 'squids.shoal.test'
const dir = mkdtempSync(join(tmpdir(), 'tls-'))
const [certificateFile, keyFile] = [join(dir, 'certificate.pem'), join(dir, 'key.pem')]
let bed: GatewayTestbed
const cleanup = new AsyncDisposableStack()
const env = {
  SHOAL_TLS: 'files',
  SHOAL_TLS_CERTIFICATE_FILE: certificateFile,
  SHOAL_TLS_KEY_FILE: keyFile,
  SHOAL_TLS_PORT: '0',
  SHOAL_TLS_REDIRECT_PORT: '0',
  SHOAL_TLS_HOST: '127.0.0.1',
  SHOAL_PUBLIC_URL: `https://${consoleName}`,
  SHOAL_GATEWAY_URL: `https://${gatewayName}/{org}`,
}

async function writeCertificate(): Promise<void> {
  const { cert, key } = await createSelfSigned(gatewayName)
  writeFileSync(certificateFile, cert)
  writeFileSync(keyFile, key)
}

async function openPorts(): Promise<{ ports: TlsPorts; port: number }> {
  const ports = await openTlsPorts(bed.t.app.config)
  if (!ports) throw new Error('no ports were opened')
  const { close: closeGateway, ...gateway } = await createGateway(bed.t.app)
  const stopReading = await ports.start(bed.t.app, {
    api: { request: (req, res) => bed.t.http.routing(req, res) },
    gateway,
  })
  cleanup.defer(closeGateway)
  cleanup.defer(stopReading)
  for (const listener of ports.listeners) cleanup.defer(listener.close)
  return { ports, port: ports.listeners[0]?.port ?? 0 }
}

/** Creates a version and waits until the gateway behind the port routes to it. */
async function createVersion(name: string): ReturnType<GatewayTestbed['createVersion']> {
  const squid = await bed.createVersion({ name })
  const path = `/acme/${name}@v1/processors/none/metrics`
  await until(async () => expect((await http1({ host: gatewayName, path })).body).not.toContain('SQUID_NOT_FOUND'))
  return squid
}

let port: number
let httpPort: number
beforeAll(async () => {
  await writeCertificate()
  bed = await openGatewayTestbed({ env })
  await bed.t.http.ready()
  const opened = await openPorts()
  port = opened.port
  httpPort = opened.ports.listeners[1]?.port ?? 0
})
afterAll(async () => {
  await cleanup.disposeAsync()
  await bed?.close()
  rmSync(dir, { recursive: true, force: true })
})

type Reply = { status: number; headers: Record<string, unknown>; body: string }
type Call = (options: {
  host: string
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string
  hasLength?: boolean
}) => Promise<Reply>

/** Requests over HTTP/1.1, without verifying the certificate. */
const http1: Call = ({ host, path, method = 'GET', headers = {}, body, hasLength = true }) =>
  new Promise((done, fail) => {
    const sentHeaders = {
      host,
      ...headers,
      ...(body !== undefined && hasLength ? { 'content-length': Buffer.byteLength(body) } : {}),
    }
    const options = { port, host: '127.0.0.1', servername: host, path, method, headers: sentHeaders }
    const request = httpsRequest({ ...options, rejectUnauthorized: false, agent: false }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.once('end', () => done({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    request.once('error', fail)
    request.end(body)
  })

const openSession = (host: string): ClientHttp2Session => {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { servername: host, rejectUnauthorized: false })
  cleanup.defer(() => session.destroy())
  return session
}

/** Requests over HTTP/2. */
const http2: Call = ({ host, path, method = 'GET', headers = {}, body, hasLength = true }) =>
  new Promise((done, fail) => {
    const session = openSession(host)
    session.once('error', fail)
    const lengthHeader = body !== undefined && hasLength ? { 'content-length': Buffer.byteLength(body) } : {}
    const pseudoHeaders = { ':authority': host, ':path': path, ':method': method }
    const stream = session.request({ ...pseudoHeaders, ...headers, ...lengthHeader }, { endStream: body === undefined })
    let received: Record<string, unknown> = {}
    let text = ''
    stream.once('response', (head) => (received = head))
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    stream.once('error', fail)
    stream.once('end', () => {
      done({ status: Number(received[':status']), headers: received, body: text })
      session.close()
    })
    if (body !== undefined) stream.end(body)
  })

const protocols = [
  ['HTTP/1.1', http1],
  ['HTTP/2', http2],
] as const

test.each(protocols)('%s: the console and the API are served under their name, with HSTS', async (_, call) => {
  const user = await bed.t.make.user()
  const reply = await call({
    host: consoleName,
    path: '/api/user',
    headers: { authorization: `Bearer ${user.token}` },
  })
  expect(reply).toMatchObject({ status: 200 })
  expect(reply.body).toContain(user.email)
  expect(reply.headers['strict-transport-security']).toContain('max-age=')
})

test.each(protocols)('%s: a squid receives the request, with its body and headers', async (name, call) => {
  const squid = await createVersion(`echo-${name.toLowerCase().replaceAll(/\W/g, '-')}`)
  await bed.serve(squid, (req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => res.setHeader('x-two', ['a', 'b']).end(JSON.stringify({ headers: req.headers, body })))
  })
  const path = `/acme/${squid.name}@v1/api/graphql`
  const small = '{"query":"{a}"}'
  const large = 'x'.repeat(500_000)
  for (const [body, hasLength] of [
    [small, true],
    [small, false],
    [large, true],
    [large, false],
  ] as const) {
    const reply = await call({ host: gatewayName, path, method: 'POST', body, hasLength, headers: { 'x-mine': '1' } })
    expect(reply.status).toBe(200)
    const echoed = JSON.parse(reply.body) as { headers: Record<string, string>; body: string }
    expect(echoed.body.length).toBe(body.length)
    expect(echoed.headers).toMatchObject({
      'x-mine': '1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': gatewayName,
      'x-forwarded-for': '127.0.0.1',
    })
    expect(String(reply.headers['x-two'])).toMatch(/a, ?b/)
    expect(reply.headers['strict-transport-security']).toBe('max-age=2592000')
  }
})

test('the console is not served under names of the gateway, nor squids under the console’s', async () => {
  for (const [, call] of protocols) {
    expect((await call({ host: gatewayName, path: '/api/user' })).body).not.toContain('UNAUTHORIZED')
    expect((await call({ host: consoleName, path: '/acme/echo-http-2@v1/api/graphql' })).body).not.toContain('x-mine')
  }
})

test('WebSockets work although the port offers HTTP/2', async () => {
  const squid = await createVersion('sockets')
  const { server } = await bed.serve(squid, (_, res) => res.end())
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`echo ${String(data)}`)))
  const options = { servername: gatewayName, headers: { host: gatewayName }, rejectUnauthorized: false }
  const client = new WebSocket(`wss://127.0.0.1:${port}/acme/sockets@v1/api/graphql`, options)
  const reply = await new Promise<string>((done, fail) => {
    client.once('open', () => client.send('hello'))
    client.once('message', (data) => done(String(data)))
    client.once('error', fail)
  })
  expect(reply).toBe('echo hello')
  client.terminate()
  sockets.close()
})

test('a rejected upgrade is closed even if its client never closes the connection, or resets it', async () => {
  const before = openConnections(port).length
  const openUpgrade = async () => {
    const socket = connectTcp(port, '127.0.0.1')
    const client = connectTls({ socket, servername: consoleName, rejectUnauthorized: false })
    cleanup.defer(() => void client.destroy())
    await new Promise((done, fail) => client.on('error', fail).once('secureConnect', done))
    client.removeAllListeners('error').on('error', () => undefined)
    client.write(`GET / HTTP/1.1\r\nhost: ${consoleName}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
    return { socket, client }
  }
  const resetting = await openUpgrade()
  await new Promise((done) => resetting.client.once('data', done))
  resetting.socket.resetAndDestroy()
  // Without reading, the client does not notice the end of the connection.
  ;(await openUpgrade()).client.pause()
  await until(() => expect(openConnections(port).length).toBe(before))
})

test('a shutdown completes requests in progress over HTTP/2 and closes its connections', async () => {
  const squid = await bed.createVersion({ name: 'slow' })
  const started = Promise.withResolvers<() => void>()
  await bed.serve(squid, (_, res) => started.resolve(() => void res.end('complete')))
  const other = await openPorts()
  const session = connectHttp2(`https://127.0.0.1:${other.port}`, {
    servername: gatewayName,
    rejectUnauthorized: false,
  })
  const stream = session.request({ ':authority': gatewayName, ':path': '/acme/slow@v1/api/graphql' })
  let body = ''
  stream.on('data', (chunk: Buffer) => (body += chunk.toString()))
  const respond = await started.promise
  const goaway = new Promise((done) => session.once('goaway', done))
  const drained = other.ports.listeners[0]?.drain(60_000)
  await goaway
  respond()
  await new Promise((done) => stream.once('close', done))
  expect(body).toBe('complete')
  await drained
  expect(session.closed).toBe(true)
})

test('connections without TLS, with an incomplete handshake or with an unknown protocol are closed; others still work', async () => {
  const send = (bytes: string | Buffer) =>
    new Promise<void>((done) => {
      const socket = connectTcp(port, '127.0.0.1', () => socket.write(bytes))
      socket.once('close', () => done())
      socket.on('error', () => undefined)
      socket.on('data', () => undefined)
    })
  await send('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await send(Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0]))
  for (const ALPNProtocols of [['acme-tls/1'], ['spdy/3']])
    await expect(
      new Promise((done, fail) => {
        const socket = connectTls(
          { port, host: '127.0.0.1', servername: gatewayName, ALPNProtocols, rejectUnauthorized: false },
          () => done(null),
        )
        socket.once('error', fail)
      }),
    ).rejects.toThrow()
  expect((await http2({ host: gatewayName, path: '/healthz' })).status).toBe(200)
})

test('the HTTP port redirects only names of the console and of the certificate, so that it is not an open redirect', async () => {
  const redirect = (host: string, path: string) =>
    new Promise<[status: number | undefined, location: string | undefined]>((done, fail) => {
      get({ host: '127.0.0.1', port: httpPort, path, headers: { host }, agent: false }, (response) => {
        response.resume()
        done([response.statusCode, response.headers.location])
      }).once('error', fail)
    })
  for (const name of [gatewayName, consoleName, `${gatewayName}:80`])
    expect(await redirect(name, '//evil.example/x')).toEqual([
      308,
      `https://${name.replace(':80', '')}:${port}//evil.example/x`,
    ])
  for (const name of [
    'evil.example',
    `${gatewayName}.evil.example`,
    `${gatewayName}@evil.example`,
    `evil.example/${gatewayName}`,
    '',
  ])
    expect([name, ...(await redirect(name, '/'))]).toEqual([name, 404, undefined])
  expect(await redirect(gatewayName, 'http://evil.example/')).toEqual([404, undefined])
})

test('the HTTP port refuses calls and does not redirect them, because their tokens were already sent without encryption', async () => {
  const call = (host: string, path: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
    new Promise<{ status: number | undefined; location: string | undefined; body: string }>((done, fail) => {
      const request = httpRequest(
        { host: '127.0.0.1', port: httpPort, path, agent: false, ...options, headers: { ...options.headers, host } },
        (response) => {
          let body = ''
          response.on('data', (chunk: Buffer) => (body += chunk.toString()))
          response.on('end', () => done({ status: response.statusCode, location: response.headers.location, body }))
        },
      )
      request.once('error', fail).end()
    })
  const calls: [host: string, path: string, options?: Parameters<typeof call>[2]][] = [
    [consoleName, '/api/v1/user', { headers: { authorization: 'token shoal_secret' } }],
    [consoleName, '/api/v1/auth/signin', { method: 'POST' }],
    [consoleName, '//api/user'],
    [consoleName, '/squids', { headers: { authorization: 'token shoal_secret' } }],
    [gatewayName, '/rpc/ethereum-mainnet/secret'],
    [gatewayName, '/rpc/ethereum-mainnet/secret', { headers: { connection: 'upgrade', upgrade: 'websocket' } }],
    [gatewayName, '/portal/ethereum-mainnet/secret/stream'],
    [gatewayName, '/acme/squid@v1/api/graphql', { method: 'POST' }],
  ]
  for (const [host, path, options] of calls) {
    const { status, location, body } = await call(host, path, options)
    expect([path, status, location, JSON.parse(body)]).toEqual([
      path,
      405,
      undefined,
      {
        error: expect.stringContaining(`Use https://${host}:${port}: this request was not encrypted.`),
        code: 'HTTPS_NEEDED',
      },
    ])
  }
  for (const [host, path] of [
    [consoleName, '/apis'],
    [consoleName, '/squids?x=/api/'],
    [gatewayName, '/acme/squid@v1/api/graphql'],
  ] as const)
    expect([path, (await call(host, path)).status]).toEqual([path, 308])
})

test('changed certificate files are used without a restart', async () => {
  const serial = () =>
    new Promise<string>((done, fail) => {
      const socket = connectTls({ port, host: '127.0.0.1', servername: gatewayName, rejectUnauthorized: false }, () => {
        done(socket.getPeerCertificate().serialNumber)
        socket.destroy()
      })
      socket.once('error', fail)
    })
  const before = await serial()
  await writeCertificate()
  utimesSync(certificateFile, new Date(), new Date())
  await until(async () => expect(await serial()).not.toBe(before))
})
