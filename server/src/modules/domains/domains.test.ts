import { createSocket } from 'node:dgram'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { hasPebble, startPebble, type Pebble } from '../../../../scripts/pebble.ts'
import { days, hours } from '../../clock.ts'
import { openDomainTable, type DomainTable } from '../../gateway/domain-table.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { until } from '../../testing/until.ts'
import { makeVersion } from '../versions/testing/make-version.ts'
import { orderDueCertificates } from '../certificates/maintain.ts'
import { insertNames } from '../certificates/store.ts'
import { checkDueDomains } from './check-domains.ts'

const gatewayName = 'squids.shoal.test'
const ownNames = ['console.shoal.test', gatewayName]

describe.skipIf(!hasPebble())('with the DNS server of Pebble', { timeout: 120_000 }, () => {
  let pebble: Pebble
  let t: TestApp
  let table: DomainTable
  let [org, other]: TestOrg[] = []
  const name = 'api.example.com'

  beforeAll(async () => {
    pebble = await startPebble()
    const env = {
      ...pebble.settings,
      SHOAL_TLS: 'acme',
      SHOAL_PUBLIC_URL: `https://${ownNames[0]}`,
      SHOAL_GATEWAY_URL: `https://${gatewayName}/{org}`,
      SHOAL_DNS_SERVERS: pebble.dnsServer,
    }
    t = await startTestApp({ env })
    table = await openDomainTable(t.app)
    ;[org, other] = [await t.make.org(), await t.make.org()]
    for (const owner of [org, other]) await makeVersion(t.app, owner, { name: 'squid' })
  })
  afterAll(async () => {
    table?.close()
    await t?.close()
    await pebble?.end()
  })
  afterEach(async () => {
    await t.app.database.pool.query('delete from squid_domains')
    await t.app.database.pool.query('delete from certificates')
    await pebble.dns('/clear-txt', { host: `_shoal.${name}.` })
    await pebble.dns('/clear-cname', { host: `${name}.` })
  })

  const ownerOf = (owner: TestOrg | undefined) => {
    if (!owner) throw new Error('there is no organization')
    const { domains } = t.as(owner.admin)
    const params = { code: owner.code }
    return {
      add: () => domains.add({ params, body: { name, squid: 'squid', tag: 'prod' } }),
      get: async () => (await domains.list({ params })).domains[0],
      check: () => domains.check({ params: { ...params, name } }),
      remove: () => domains.remove({ params: { ...params, name } }),
    }
  }
  type Owner = ReturnType<typeof ownerOf>
  const setRecords = async (owner: Owner) => {
    for (const { type, name: host, value } of (await owner.get())?.records ?? [])
      await (type === 'TXT'
        ? pebble.dns('/set-txt', { host: `${host}.`, value })
        : pebble.dns('/set-cname', { host: `${host}.`, target: `${value}.` }))
  }
  const runRound = () => checkDueDomains(t.app)
  const expectServedFor = (code: string | undefined) =>
    until(() => expect(table.find(name, '/graphql')?.org ?? null).toBe(code ?? null))
  const certificates = async () => (await t.app.database.pool.query('select name from certificates')).rows

  test('a domain waits for its records; then it is served, and a certificate is ordered, until a member removes the domain', async () => {
    const owner = ownerOf(org)
    await owner.add()
    await runRound()
    expect(await owner.get()).toMatchObject({
      state: 'WAITING_FOR_DNS',
      problem: 'DNS has no TXT record _shoal.api.example.com.',
      // The DNS server of Pebble resolves all names to the same address, so the name points to the gateway.
      records: [
        { type: 'CNAME', name, value: gatewayName, state: 'FOUND', problem: null },
        { type: 'TXT', name: `_shoal.${name}`, value: expect.stringMatching(/^shoal-domain=.{20,}/), state: 'MISSING' },
      ],
      certificate: null,
    })
    await expectServedFor(undefined)
    expect(await certificates()).toEqual([])
    await setRecords(owner)
    await owner.check()
    await runRound()
    expect(await owner.get()).toMatchObject({ state: 'ISSUING', problem: null })
    await expectServedFor(org?.code)
    expect(table.find(`${name.toUpperCase()}.:443`, '/graphql?a=b')).toMatchObject({
      reference: 'squid:prod',
      path: '/graphql?a=b',
    })
    // No server responds to the challenge.
    await orderDueCertificates(t.app)
    const refused = expect.stringMatching(/refused|connect/i)
    expect(await owner.get()).toMatchObject({
      state: 'FAILED',
      problem: refused,
      certificate: { expiresAt: null, problem: refused, nextOrderAt: expect.any(String) },
    })
    await owner.remove()
    await expectServedFor(undefined)
    expect(await certificates()).toEqual([])
  })

  test('a check that changes nothing does not write the row of the certificate', async () => {
    const owner = ownerOf(org)
    await owner.add()
    await setRecords(owner)
    const rowVersion = async () => (await t.app.database.pool.query('select xmin, is_own from certificates')).rows
    await owner.check()
    await runRound()
    const before = await rowVersion()
    expect(before).toEqual([{ xmin: expect.any(String), is_own: false }])
    await owner.check()
    await runRound()
    expect(await rowVersion()).toEqual(before)
    // The name becomes one of the installation's own names.
    await insertNames(t.app.db, [name], true, t.clock.now())
    expect(await rowVersion()).toEqual([{ xmin: expect.any(String), is_own: true }])
  })

  test('the gateway reads the domains once at its start', async () => {
    let reads = 0
    const { database } = t.app
    const db = new Proxy(t.app.db, {
      get: (target, key) => {
        if (key === 'execute') reads += 1
        return Reflect.get(target, key) as unknown
      },
    })
    const opened = await openDomainTable({ ...t.app, db, database })
    onTestFinished(opened.close)
    expect(reads).toBe(1)
  })

  test('each record has its own state, and a problem that names what DNS has instead', async () => {
    const owner = ownerOf(org)
    await owner.add()
    expect(await owner.get()).toMatchObject({ records: [{ state: 'WAITING' }, { state: 'WAITING' }], checkedAt: null })
    await pebble.dns('/set-cname', { host: `${name}.`, target: 'elsewhere.example.net.' })
    await pebble.dns('/add-a', { host: 'elsewhere.example.net.', addresses: ['192.0.2.7'] })
    await pebble.dns('/set-txt', { host: `_shoal.${name}.`, value: 'of-another\u0007-owner' })
    await runRound()
    expect(await owner.get()).toMatchObject({
      state: 'WAITING_FOR_DNS',
      records: [
        { state: 'MISSING', problem: `${name} points to elsewhere.example.net, not to ${gatewayName}.` },
        { state: 'MISSING', problem: `The TXT record _shoal.${name} has another value: of-another-owner.` },
      ],
    })
    // Nothing listens on this port.
    t.app.config.dnsServers = ['127.0.0.1:1']
    onTestFinished(() => void (t.app.config.dnsServers = [pebble.dnsServer]))
    await owner.check()
    await runRound()
    expect(await owner.get()).toMatchObject({
      problem: expect.stringContaining('could not be read'),
      records: [{ state: 'UNKNOWN' }, { state: 'UNKNOWN' }],
    })
  })

  test('a domain without records for a week is checked only when a member requests it', async () => {
    const owner = ownerOf(org)
    await owner.add()
    await runRound()
    expect((await owner.get())?.nextCheckAt).not.toBeNull()
    t.clock.advance(days(8))
    await runRound()
    expect(await owner.get()).toMatchObject({ nextCheckAt: null })
    await owner.check()
    expect((await owner.get())?.nextCheckAt).not.toBeNull()
  })

  test('another organization with a proof can serve a domain after the first organization has removed the domain', async () => {
    const [first, second] = [ownerOf(org), ownerOf(other)]
    await first.add()
    await setRecords(first)
    await first.check()
    await runRound()
    await expectServedFor(org?.code)
    await second.add()
    await runRound()
    expect(await second.get()).toMatchObject({ state: 'WAITING_FOR_DNS' })
    // Now the proofs of both organizations exist.
    const txt = (await second.get())?.records.find(({ type }) => type === 'TXT')
    await pebble.dns('/set-txt', { host: `_shoal.${name}.`, value: txt?.value })
    await first.remove()
    await expectServedFor(undefined)
    await second.check()
    await runRound()
    await expectServedFor(other?.code)
  })

  test('a domain is active for its first organization while DNS has its proof, and then for the organization whose proof DNS has', async () => {
    const [first, second] = [ownerOf(org), ownerOf(other)]
    await first.add()
    await setRecords(first)
    await first.check()
    await runRound()
    await second.add()
    await second.check()
    await runRound()
    await expectServedFor(org?.code)
    await pebble.dns('/clear-txt', { host: `_shoal.${name}.` })
    await setRecords(second)
    await second.check()
    await runRound()
    await expectServedFor(other?.code)
    expect(await first.get()).toMatchObject({ state: 'FAILED' })
  })

  test('a domain whose records disappeared is deactivated after a day, and is removed when its squid is deleted', async () => {
    const owner = ownerOf(org)
    await owner.add()
    await setRecords(owner)
    await owner.check()
    await runRound()
    await pebble.dns('/clear-txt', { host: `_shoal.${name}.` })
    t.clock.advance(hours(2))
    await runRound()
    await expectServedFor(org?.code)
    expect(await owner.get()).toMatchObject({ problem: expect.stringContaining('TXT record') })
    t.clock.advance(days(1))
    await runRound()
    await expectServedFor(undefined)
    expect(await owner.get()).toMatchObject({ state: 'FAILED' })
    expect(await certificates()).toEqual([])
    await t.app.database.pool.query("update squids set desired_state = 'deleted' where org_id = $1", [org?.id])
    await runRound()
    expect(await owner.get()).toBeUndefined()
    await t.app.database.pool.query("update squids set desired_state = 'running' where org_id = $1", [org?.id])
  })

  test('many due domains of one organization do not delay the check of another organization', async () => {
    const add = (owner: TestOrg | undefined, host: string) =>
      t
        .as(owner?.admin ?? null)
        .domains.add({ params: { code: owner?.code ?? '' }, body: { name: host, squid: 'squid', tag: 'prod' } })
    const many = await t.make.org()
    await makeVersion(t.app, many, { name: 'squid' })
    for (let i = 0; i < 20; i++) await add(many, `many${i}.example.com`)
    t.clock.advance(1)
    await add(other, name)
    await runRound()
    expect((await ownerOf(other).get())?.checkedAt).not.toBeNull()
  })

  test('no certificate is ordered for a domain that a member removes during its check', async () => {
    const owner = ownerOf(org)
    await owner.add()
    await setRecords(owner)
    const removed = Promise.withResolvers<void>()
    const { address, received, close } = await startSlowDns(pebble.dnsServer, removed.promise)
    onTestFinished(close)
    t.app.config.dnsServers = [address]
    onTestFinished(() => void (t.app.config.dnsServers = [pebble.dnsServer]))
    const round = runRound()
    await received
    await owner.remove()
    removed.resolve()
    await round
    expect(await owner.get()).toBeUndefined()
    expect(await certificates()).toEqual([])
  })

  test('an organization has at most 20 domains, each once, for squids that exist', async () => {
    const { domains } = t.as(org?.admin ?? null)
    const params = { code: org?.code ?? '' }
    const add = (host: string, squid = 'squid') => domains.add({ params, body: { name: host, squid, tag: 'prod' } })
    await expect(add(name, 'unknown')).rejects.toMatchObject({ status: 400 })
    const added = await Promise.allSettled(Array.from({ length: 25 }, (_, i) => add(`d${i}.example.com`)))
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(20)
    await expect(add(name)).rejects.toMatchObject({ status: 405, message: expect.stringContaining('20 domains') })
    const [removed = '', kept = ''] = (await domains.list({ params })).domains.map((domain) => domain.name)
    await domains.remove({ params: { ...params, name: removed } })
    await expect(add(`${kept.toUpperCase()}.`)).rejects.toMatchObject({ status: 400 })
  })
})

/** Starts a DNS server that forwards queries to another one after `isReleased` has resolved. `received`: the first query has arrived. */
async function startSlowDns(upstream: string, isReleased: Promise<void>) {
  const { hostname, port } = new URL(`udp://${upstream}`)
  const first = Promise.withResolvers<void>()
  const server = createSocket('udp4')
  server.on('message', (query, sender) => {
    first.resolve()
    const client = createSocket('udp4').once('message', (response) => {
      client.close()
      server.send(response, sender.port, sender.address)
    })
    void isReleased.then(() => client.send(query, Number(port), hostname))
  })
  await new Promise<void>((done) => server.bind(0, '127.0.0.1', done))
  return { address: `127.0.0.1:${server.address().port}`, received: first.promise, close: () => void server.close() }
}
