import { X509Certificate } from 'node:crypto'
import { createServer, request as httpRequest } from 'node:http'
import { connect, type PeerCertificate } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasPebble, type Pebble } from '../../../../scripts/pebble.ts'
import { hours } from '../../clock.ts'
import type { TestApp } from '../../testing/index.ts'
import { openAccount } from './authority.ts'
import { findKeyAuthorization, ownCertificates } from './index.ts'
import { updateRenewalTimes, orderDueCertificates, retryDelayMs } from './maintain.ts'
import { insertChallenge, insertNames, selectCertificate, updateCertificate } from './store.ts'
import { consoleName, gatewayName, startWithPebble } from './testing/start-with-pebble.ts'

describe.skipIf(!hasPebble())('orders from Pebble', { timeout: 120_000 }, () => {
  let pebble: Pebble
  let t: TestApp
  let end: () => Promise<void>

  beforeAll(async () => {
    ;({ pebble, t, end } = await startWithPebble())
  })
  afterAll(() => end?.())
  afterEach(async () => {
    await t.app.database.pool.query('delete from certificates')
    await t.app.database.pool.query('delete from acme_challenges')
  })

  const addOwnNames = (names: string[]) => insertNames(t.app.db, names, true, new Date(0))
  const certificateOf = (name: string) => selectCertificate(t.app.db, name)
  const order = () => orderDueCertificates(t.app)

  test('until the first order succeeds, the certificate is self-signed, and unknown names get neither a certificate nor an order', async () => {
    const first = await handshake(pebble.tlsPort, consoleName, await pebble.root())
    expect(first.certificate.subject.CN).toBe('Shoal self-signed')
    expect(first.problem).not.toBeNull()
    await expect(handshake(pebble.tlsPort, 'unknown.shoal.test', '')).rejects.toThrow()
    await expect(handshake(pebble.tlsPort, undefined, '')).rejects.toThrow()
    await order()
    expect((await t.app.database.pool.query('select name from certificates')).rows).toEqual([])
  })

  test.each(['http-01', 'tls-alpn-01'] as const)('%s: the names get certificates that clients accept', async (type) => {
    t.app.config.SHOAL_ACME_CHALLENGE = type
    await addOwnNames([consoleName, gatewayName])
    await order()
    const ca = await pebble.root()
    for (const name of [consoleName, gatewayName]) {
      const certificate = await certificateOf(name)
      expect(certificate).toMatchObject({ failures: 0, lastError: null })
      const { publicKey } = new X509Certificate(certificate?.chain ?? '')
      expect(publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' })
      await expect.poll(() => handshake(pebble.tlsPort, name, ca).then(({ problem }) => problem)).toBeNull()
    }
    // Renewed when a third of the lifetime remains.
    const row = await certificateOf(consoleName)
    const remaining = Number(row?.notAfter) - Number(row?.nextOrderAt)
    expect(remaining / (Number(row?.notAfter) - Number(row?.notBefore))).toBeCloseTo(1 / 3)
    expect((await t.app.database.pool.query('select * from acme_challenges')).rows).toEqual([])
  })

  test('concurrent first orders use one account', async () => {
    await t.app.database.pool.query('delete from acme_accounts')
    const app = { ...t.app, config: { ...t.app.config, SHOAL_ACME_EMAIL: undefined } }
    const clients = await Promise.all(Array.from({ length: 8 }, () => openAccount(app)))
    expect(new Set(clients.map((client) => client.getAccountUrl())).size).toBe(1)
  })

  test('the keys of certificates and of the account are sealed', async () => {
    await addOwnNames([consoleName])
    await order()
    const { rows } = await t.app.database.pool.query<{ sealed_key: string }>(
      'select sealed_key from certificates union all select sealed_key from acme_accounts',
    )
    expect(rows).toHaveLength(2)
    for (const { sealed_key } of rows) expect(sealed_key).toMatch(/^v1:/)
  })

  test('without an email of the operator, further orders use the account of the first', async () => {
    const { SHOAL_ACME_EMAIL } = t.app.config
    onTestFinished(async () => {
      Object.assign(t.app.config, { SHOAL_ACME_EMAIL })
      await t.app.database.pool.query('delete from acme_accounts')
    })
    delete t.app.config.SHOAL_ACME_EMAIL
    await t.app.database.pool.query('delete from acme_accounts')
    for (const name of [consoleName, gatewayName]) {
      await addOwnNames([name])
      await order()
      expect(await certificateOf(name)).toMatchObject({ failures: 0, lastError: null })
    }
  })

  test('a refused order is recorded with its cause, and retried later with growing delays', async () => {
    const blocked = 'blocked.shoal.test'
    await insertNames(t.app.db, [blocked], false, new Date(0))
    await order()
    const read = async () =>
      (await t.app.database.pool.query('select * from certificates where name = $1', [blocked])).rows[0]
    expect(await read()).toMatchObject({ failures: 1, last_error: expect.stringContaining('blocked') })
    const { next_order_at } = (await read()) as { next_order_at: Date }
    expect(next_order_at.getTime()).toBeGreaterThan(Date.now())
    // Not due yet.
    await order()
    expect(await read()).toMatchObject({ failures: 1 })
    expect([1, 2, 3, 20].map(retryDelayMs)).toEqual([120_000, 240_000, 480_000, hours(12)])
  })

  test('a wrong key authorization makes the order fail, and its cause is recorded', async () => {
    t.app.config.SHOAL_ACME_CHALLENGE = 'http-01'
    await addOwnNames([consoleName])
    const impostor = createServer((_, res) => void res.end('made-up.key-authorization'))
    onTestFinished(() => void impostor.close())
    await new Promise<void>((done) => void impostor.listen(pebble.httpPort, '127.0.0.9', done))
    await pebble.dns('/add-a', { host: consoleName, addresses: ['127.0.0.9'] })
    await order()
    const row = await certificateOf(consoleName)
    expect(row).toMatchObject({ failures: 1, chain: null })
    expect(row?.lastError).toMatch(/key authorization/i)
    expect(await ownCertificates(t.app)).toEqual([
      {
        name: consoleName,
        validUntil: null,
        failures: 1,
        problem: row?.lastError,
        nextOrderAt: row?.nextOrderAt.toISOString(),
      },
      { name: gatewayName, validUntil: null, failures: 0, problem: null, nextOrderAt: null },
    ])
    await pebble.dns('/clear-a', { host: consoleName })
    await updateCertificate(t.app.db, consoleName, { nextOrderAt: new Date(0) })
    await order()
    expect(await certificateOf(consoleName)).toMatchObject({ failures: 0, lastError: null })
  })

  test('while the authority does not respond, the previous certificate is kept', async () => {
    await addOwnNames([consoleName])
    await order()
    const before = await certificateOf(consoleName)
    await pebble.stop()
    await updateCertificate(t.app.db, consoleName, { nextOrderAt: new Date(0) })
    await order()
    expect(await certificateOf(consoleName)).toMatchObject({ chain: before?.chain, failures: 1 })
    // After its restart, Pebble no longer has the account, which is created again with the same key.
    await pebble.start()
    await updateCertificate(t.app.db, consoleName, { nextOrderAt: new Date(0) })
    await order()
    const after = await certificateOf(consoleName)
    expect(after).toMatchObject({ failures: 0 })
    expect(after?.chain).not.toBe(before?.chain)
  })

  test('a certificate that has expired is served until the next round replaces it, without a restart', async () => {
    const short = await startWithPebble({ validitySeconds: 10 })
    onTestFinished(() => short.end())
    const { db } = short.t.app
    const ca = await short.pebble.root()
    const connectAgain = () => handshake(short.pebble.tlsPort, consoleName, ca)
    await insertNames(db, [consoleName], true, new Date(0))
    await orderDueCertificates(short.t.app)
    const issued = await selectCertificate(db, consoleName)
    // The clock of the TLS client is that of the system, so the test waits until the certificate has really expired.
    await expect.poll(async () => (await connectAgain()).problem).toContain('CERT_HAS_EXPIRED')
    const expired = await connectAgain()
    expect(expired.certificate.serialNumber).toBe(new X509Certificate(issued?.chain ?? '').serialNumber)
    // Runs rounds as the server does, because on a slow machine the next certificate may expire before the client connects.
    const connectAfterRound = async () => {
      await updateRenewalTimes(short.t.app)
      await orderDueCertificates(short.t.app)
      return (await connectAgain()).problem
    }
    await expect.poll(connectAfterRound).toBeNull()
    const replaced = await selectCertificate(db, consoleName)
    expect(replaced).toMatchObject({ failures: 0, lastError: null })
    expect(Number(replaced?.notBefore)).toBeGreaterThanOrEqual(Number(issued?.notAfter))
  })

  test('an order that a killed process left behind is started again', async () => {
    await addOwnNames([consoleName])
    await insertChallenge(t.app.db, {
      token: 'left-behind-by-a-killed-process',
      name: consoleName,
      type: 'tls-alpn-01',
      keyAuthorization: 'old',
      createdAt: new Date(0),
    })
    t.app.config.SHOAL_ACME_CHALLENGE = 'tls-alpn-01'
    await order()
    expect(await certificateOf(consoleName)).toMatchObject({ failures: 0, lastError: null })
  })

  test('a challenge gets a response only under its name, and HTTP is redirected only for names that are served', async () => {
    const challenge = { token: 'token-of-an-authority', name: consoleName, type: 'http-01' as const }
    await insertChallenge(t.app.db, { ...challenge, keyAuthorization: 'expected', createdAt: new Date() })
    expect(await findKeyAuthorization(t.app, challenge.token, gatewayName)).toBeNull()
    const path = `/.well-known/acme-challenge/${challenge.token}`
    expect(await httpGet(pebble.httpPort, consoleName, path)).toMatchObject({ status: 200, body: 'expected' })
    expect(await httpGet(pebble.httpPort, gatewayName, path)).toMatchObject({ status: 404 })
    for (const token of ["'", '%27 or 1=1', '../../etc/passwd', 'x'.repeat(5_000)])
      expect(await httpGet(pebble.httpPort, consoleName, `/.well-known/acme-challenge/${token}`), token).toMatchObject({
        status: 404,
      })
    expect(await httpGet(pebble.httpPort, consoleName, '/a?b=c')).toMatchObject({
      status: 308,
      location: `https://${consoleName}:${pebble.tlsPort}/a?b=c`,
    })
    expect(await httpGet(pebble.httpPort, 'evil.example', '/a')).toMatchObject({ status: 404 })
  })
})

type Handshake = { problem: string | null; certificate: PeerCertificate }

/** Connects to a TLS port with this name. `problem`: why the client would reject the certificate. */
function handshake(port: number, servername: string | undefined, ca: string): Promise<Handshake> {
  return new Promise((done, fail) => {
    const name = servername === undefined ? {} : { servername }
    const trusted = ca === '' ? {} : { ca }
    const socket = connect({ port, host: '127.0.0.1', ...name, ...trusted, rejectUnauthorized: false }, () => {
      done({
        problem: socket.authorized ? null : String(socket.authorizationError),
        certificate: socket.getPeerCertificate(),
      })
      socket.destroy()
    })
    socket.once('error', fail)
    socket.once('close', () => fail(new Error('closed')))
  })
}

type PlainResponse = { status: number; location: string | undefined; body: string }

function httpGet(port: number, host: string, path: string): Promise<PlainResponse> {
  return new Promise((done, fail) => {
    const request = httpRequest({ port, host: '127.0.0.1', path: encodeURI(path), headers: { host } }, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.once('end', () => done({ status: response.statusCode ?? 0, location: response.headers.location, body }))
    })
    request.once('error', fail).end()
  })
}
