import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { dayOf, minutes } from '../../clock.ts'
import { ensureDayPartition } from '../../db/day-partitions.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { startTestApp, type TestApp, type TestOrg, type TestUser } from '../../testing/index.ts'
import { startScenario, type BillingScenario } from '../billing/testing/scenario.ts'
import { findTokenOwner } from '../rpc/index.ts'

let t: TestApp
let operator: TestUser
let scenario: BillingScenario
const password = 'a long enough password'

beforeAll(async () => {
  t = await startTestApp()
  scenario = startScenario(t)
  operator = await t.make.operator({ password })
})
afterAll(() => t?.close())
// Advances the clock so far that usage and costs are computed again.
beforeEach(() => enterPasswordAfter(minutes(30)))

async function enterPasswordAfter(ms: number) {
  t.clock.advance(ms)
  await t.as(operator).operators.confirmPassword({ body: { password } })
}

const api = () => t.as(operator).operators
const query = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await t.app.database.pool.query<Row>(text, values)).rows
const found = async (search: string) => (await api().listOrgs({ query: { search } })).orgs

describe('the list of organizations', () => {
  test('finds organizations by name, by code and by the email of a member; special characters match literally', async () => {
    const org = await t.make.org({ code: 'find-me', name: 'Fifty % Found_' })
    const codes = async (search: string) => (await found(search)).map(({ code }) => code)
    expect(await codes('FIND-')).toEqual([org.code])
    expect(await codes('% found_')).toEqual([org.code])
    expect((await codes(org.admin.email.toUpperCase())).sort()).toEqual([org.code, org.admin.playground.code].sort())
    expect(await codes('F%d')).toEqual([])
    expect(await codes("' or true --")).toEqual([])
    await expect(found('a\0b')).rejects.toMatchObject({ status: 400 })
  })

  test('names the owners, by which an operator distinguishes playgrounds', async () => {
    const org = await t.make.org({ code: 'owned' })
    const { playground, email } = org.admin
    const orgs = await found(email)
    expect(orgs.map(({ firstAdminEmail }) => firstAdminEmail)).toEqual([email, email])
    expect(orgs.map(({ code }) => code)).toEqual(expect.arrayContaining([org.code, playground.code]))
  })

  test('contains the status, squids, usage and cost', async () => {
    const org = await t.make.org({ code: 'busy' })
    const id = await scenario.addVersion(org, { name: 'indexer', isDedicated: true })
    await scenario.advance(minutes(60))
    await enterPasswordAfter(minutes(1))
    const now = t.clock.now()
    await query(
      `insert into rpc_usage (org_id, chain, method, version, hour, requests, failures) values ($1, 'eth', 'eth_call', $2, $3, 30, 0), ($1, 'eth', 'eth_call', '', $3, 12, 0)`,
      [org.id, String(id), now],
    )
    await query(
      `insert into log_blocks (squid_id, first_seq, last_seq, min_at, max_at, level_mask, containers, bloom) values ($1, 1, 1000, $2, $2, 1, '{api}', ''), ($1, 1001, 2000, $3, $3, 1, '{api}', '')`,
      [id, new Date(now.getTime() - minutes(25 * 60)), now],
    )
    await query(`insert into log_streams (squid_id, last_seq, indexed_seq, usage_day) values ($1, 2034, 2000, $2)`, [
      id,
      now,
    ])
    const [row] = await found('busy')
    expect(row).toMatchObject({
      code: 'busy',
      status: 'ACTIVE',
      isPlayground: false,
      suspension: null,
      squids: 1,
      squidsLimit: 100,
      usage: { logLines: 1034, rpcRequests: 42 },
    })
    const summary = await t.as(org.admin).billing.getSummary({ params: { code: org.code } })
    expect(row?.costUsd).toBeCloseTo(Number(summary.soFarUsd), 2)
    expect(row?.costUsd).toBeGreaterThan(0)
    const squids = await api().listSquids({ query: { search: 'indexer@v1' } })
    expect(squids).toMatchObject({
      total: 1,
      squids: [
        {
          name: 'indexer',
          slot: 'v1',
          organization: { code: 'busy' },
          firstAdminEmail: org.admin.email,
          usage: { logLines: 1034, rpcRequests: 30 },
        },
      ],
    })
  })

  test('contains the CPU, memory and disk of each organization in the last five minutes, of all its programs and databases', async () => {
    const [large, small] = [await t.make.org({ code: 'used-large' }), await t.make.org({ code: 'used-small' })]
    const indexer = await scenario.addVersion(large, { name: 'sampled' })
    const hibernated = await scenario.addVersion(large, { name: 'sampled-hibernated' })
    const other = await scenario.addVersion(small, { name: 'sampled-other' })
    await addSamples(indexer, 'api', [
      { agoMs: minutes(6), seconds: 15, cpu: 1_500, memory: 1e9, disk: 1e9 },
      { agoMs: minutes(4), seconds: 10, cpu: 2, memory: 100, disk: 7 },
      { agoMs: minutes(3), seconds: 30, cpu: 10, memory: 300, disk: 9 },
      { agoMs: minutes(2), seconds: 0, cpu: null, memory: null, disk: 8 },
    ])
    await addSamples(indexer, 'db', [{ agoMs: minutes(3), seconds: 15, cpu: 3, memory: 50, disk: 1_000 }])
    await addSamples(hibernated, 'db', [{ agoMs: minutes(1), seconds: 0, cpu: null, memory: null, disk: 500 }])
    await addSamples(other, 'api', [{ agoMs: minutes(1), seconds: 15, cpu: 15, memory: 40, disk: 20 }])
    // The means of `api` are (2 + 10) / 40 cores and (10 · 100 + 30 · 300) / 40 bytes.
    const usageOfIndexer = { cpuCores: 0.3 + 0.2, memoryBytes: 250 + 50, diskBytes: 9 + 1_000 }
    const sorted = async (sort: 'cpu' | 'memory' | 'disk') =>
      (await api().listOrgs({ query: { search: 'used-', sort, order: 'desc' } })).orgs
    const [first, second] = await sorted('disk')
    expect(first).toMatchObject({ code: large.code, usage: { ...usageOfIndexer, diskBytes: 9 + 1_000 + 500 } })
    expect(second).toMatchObject({ code: small.code, usage: { cpuCores: 1, memoryBytes: 40, diskBytes: 20 } })
    expect((await sorted('memory')).map(({ code }) => code)).toEqual([large.code, small.code])
    expect((await sorted('cpu')).map(({ code }) => code)).toEqual([small.code, large.code])
    const { squids } = await api().listSquids({ query: { search: 'sampled', sort: 'disk', order: 'desc' } })
    expect(squids).toMatchObject([
      { name: 'sampled', usage: usageOfIndexer },
      { name: 'sampled-hibernated', usage: { cpuCores: 0, memoryBytes: 0, diskBytes: 500 } },
      { name: 'sampled-other', usage: { cpuCores: 1, memoryBytes: 40, diskBytes: 20 } },
    ])
  })

  test('is sorted and split into pages by the server, without gaps or repetitions', async () => {
    for (let i = 0; i < 60; i++)
      await t.make.org({ code: `many-${String(i).padStart(2, '0')}`, name: 'Same name', admin: operator })
    const codes = async (offset: string) =>
      (await api().listOrgs({ query: { search: 'many-', sort: 'name', order: 'desc', offset } })).orgs.map(
        ({ code }) => code,
      )
    const pages = [...(await codes('1')), ...(await codes('51'))]
    expect(pages).toHaveLength(59)
    expect(new Set(pages).size).toBe(59)
    const { orgs, total } = await api().listOrgs({ query: { search: 'many-', sort: 'created', order: 'desc' } })
    expect([orgs[0]?.code, orgs.length, total]).toEqual(['many-00', 50, 60])
    for (const bad of ['-1', '1.5', 'x']) await expect(codes(bad)).rejects.toMatchObject({ status: 400 })
  })
})

type SampleOfTest = { agoMs: number; seconds: number; cpu: number | null; memory: number | null; disk: number }

/** Inserts samples of a container, as the sampler does. `cpu`: seconds; `memory`: the mean in bytes; null if the sample follows a gap. */
async function addSamples(squidId: number, container: string, samples: SampleOfTest[]) {
  const client = await t.app.database.pool.connect()
  onTestFinished(() => client.release())
  for (const { agoMs, seconds, cpu, memory, disk } of samples) {
    const atMs = t.clock.now().getTime() - agoMs
    await ensureDayPartition(client, 'container_samples', dayOf(atMs))
    await query(
      `insert into container_samples
         (squid_id, at, container, observed_seconds, cpu_seconds, memory_byte_seconds, disk_used_bytes, oom_kills, crashes)
       values ($1, $2, $3, $4, $5, $6, $7, 0, 0)`,
      [squidId, new Date(atMs), container, seconds, cpu, memory === null ? null : memory * seconds, disk],
    )
  }
}

describe('a suspension', () => {
  const suspend = (org: TestOrg, reason = 'Mining coins.') =>
    api().suspendOrg({ params: { code: org.code }, body: { reason } })
  const resume = (org: TestOrg) => api().resumeOrg({ params: { code: org.code } })
  const typesOf = async (id: number) =>
    (await query<{ type: string }>('select type from deployments where squid_id = $1 order by id', [id])).map(
      ({ type }) => type,
    )
  const complete = async (id: number, state: string) => {
    await query(`update deployments set finished_at = $2, status = 'OK' where squid_id = $1`, [id, t.clock.now()])
    await query(`update squids set desired_state = $2, last_deploy = null where id = $1`, [id, state])
  }

  test('shows its reason to members; until it ends, deployments, restarts and RPC requests are refused with that reason', async () => {
    const org = await t.make.org()
    const id = await scenario.addVersion(org, { name: 'mine' })
    const asAdmin = t.as(org.admin)
    const params = { code: org.code }
    const { token } = await asAdmin.rpc.getToken({ params })
    await suspend(org)
    const at = t.clock.now().toISOString()
    expect((await asAdmin.orgs.get({ params })).suspension).toEqual({ at, reason: 'Mining coins.' })
    const refusal = {
      status: 405,
      message: expect.stringContaining(`suspended organization ${org.code}: Mining coins.`) as string,
    }
    await expect(asAdmin.deployments.createUpload({ params })).rejects.toMatchObject(refusal)
    await query(`update squids set desired_state = 'hibernated' where id = $1`, [id])
    await expect(asAdmin.squids.restart({ params: { ...params, reference: 'mine@v1' } })).rejects.toMatchObject(refusal)
    expect(await findTokenOwner(t.app.db, hashSecret(token), '2026-01-01')).toMatchObject({ isSuspended: true })
    expect((await t.mails())[0]).toMatchObject({ to: org.admin.email, subject: `${org.name} is suspended` })
    expect((await t.mails())[0]?.text).toContain('Mining coins.')
    await resume(org)
    expect((await asAdmin.orgs.get({ params })).suspension).toBeNull()
    await asAdmin.squids.restart({ params: { ...params, reference: 'mine@v1' } })
  })

  test('hibernates running versions; when it ends, the versions that it hibernated start again', async () => {
    const org = await t.make.org()
    const running = await scenario.addVersion(org, { name: 'running' })
    const hibernated = await scenario.addVersion(org, { name: 'hibernated' })
    await complete(hibernated, 'hibernated')
    await suspend(org)
    await scenario.advance(minutes(1))
    expect([await typesOf(running), await typesOf(hibernated)]).toEqual([['HIBERNATE'], []])
    await complete(running, 'hibernated')
    await scenario.advance(minutes(1))
    expect(await typesOf(running)).toEqual(['HIBERNATE'])
    // A version whose deployment has just ended is hibernated, too.
    await complete(hibernated, 'running')
    await scenario.advance(minutes(1))
    expect(await typesOf(hibernated)).toEqual(['HIBERNATE'])
    await complete(hibernated, 'hibernated')
    await enterPasswordAfter(minutes(1))
    await resume(org)
    await scenario.advance(minutes(1))
    expect([await typesOf(running), await typesOf(hibernated)]).toEqual([
      ['HIBERNATE', 'RESTART'],
      ['HIBERNATE', 'RESTART'],
    ])
  })

  test('a debt that is paid during a suspension does not start versions', async () => {
    const org = await t.make.org()
    const id = await scenario.addVersion(org, { name: 'indebted' })
    await query(
      `insert into billing_hibernations (squid_id, org_id, squid_name, reason, month, is_waking, at) values ($1, $2, 'indebted@v1', 'debt', '2026-01', true, now())`,
      [id, org.id],
    )
    await complete(id, 'hibernated')
    await suspend(org)
    await scenario.advance(minutes(1))
    expect(await typesOf(id)).toEqual([])
    await enterPasswordAfter(minutes(1))
    await resume(org)
    await scenario.advance(minutes(1))
    expect(await typesOf(id)).toEqual(['RESTART'])
  })

  test('is recorded in the audit log of the organization, and is rejected if repeated or for an unknown organization', async () => {
    const org = await t.make.org()
    await suspend(org)
    await expect(suspend(org)).rejects.toMatchObject({ status: 405 })
    await resume(org)
    await expect(resume(org)).rejects.toMatchObject({ status: 405 })
    const rows = await query(
      "select action, user_id, org_id, subject, after from audit_log where org_id = $1 and action like 'operators.%' order by id",
      [org.id],
    )
    expect(rows).toEqual([
      {
        action: 'operators.suspendOrg',
        user_id: operator.id,
        org_id: org.id,
        subject: org.code,
        after: { at: t.clock.now().toISOString(), reason: 'Mining coins.' },
      },
      { action: 'operators.resumeOrg', user_id: operator.id, org_id: org.id, subject: org.code, after: null },
    ])
    for (const code of ['no-such-org', '1', "'"])
      await expect(api().suspendOrg({ params: { code }, body: { reason: 'x' } })).rejects.toMatchObject({ status: 404 })
    await expect(suspend(org, ' ')).rejects.toMatchObject({ status: 400 })
  })
})

test('an operator changes the limit of squids, which applies to the next deployment', async () => {
  const org = await t.make.org()
  await api().changeLimits({ params: { code: org.code }, body: { squids: 3 } })
  expect((await t.as(org.admin).orgs.get({ params: { code: org.code } })).limits.squids).toBe(3)
  const rows = await query(
    `select before, after from audit_log where org_id = $1 and action = 'operators.changeLimits'`,
    [org.id],
  )
  expect(rows).toEqual([{ before: { squids: 100 }, after: { squids: 3 } }])
  await expect(api().changeLimits({ params: { code: org.code }, body: { squids: -1 } })).rejects.toMatchObject({
    status: 400,
  })
})

test('an operator hibernates one version; its log shows the reason, and a member may restart it', async () => {
  const org = await t.make.org()
  const id = await scenario.addVersion(org, { name: 'loud' })
  const params = { code: org.code, reference: 'loud@v1' }
  const hibernate = () => api().hibernateSquid({ params, body: { reason: 'It writes a million lines.' } })
  await hibernate()
  expect(await query('select type, user_id from deployments where squid_id = $1', [id])).toEqual([
    { type: 'HIBERNATE', user_id: null },
  ])
  expect(await query('select message from squid_notices where squid_id = $1', [id])).toEqual([
    { message: 'The operator has hibernated this version: It writes a million lines. You can restart it.' },
  ])
  const recorded = await query(
    `select user_id, subject, before, after from audit_log where org_id = $1 and action = 'operators.hibernateSquid'`,
    [org.id],
  )
  expect(recorded).toEqual([
    {
      user_id: operator.id,
      subject: 'loud@v1',
      before: { desiredState: 'running' },
      after: { desiredState: 'hibernated', reason: 'It writes a million lines.' },
    },
  ])
  await expect(hibernate()).rejects.toMatchObject({ status: 405, body: { code: 'DEPLOYMENT_IN_PROGRESS' } })
  await query(`update deployments set finished_at = $2, status = 'OK' where squid_id = $1`, [id, t.clock.now()])
  await query(`update squids set desired_state = 'hibernated', last_deploy = null where id = $1`, [id])
  await expect(hibernate()).rejects.toMatchObject({ status: 405, body: { code: 'NOT_NOW' } })
  await t.as(org.admin).squids.restart({ params })
  const other = await t.make.org()
  await expect(
    api().hibernateSquid({ params: { ...params, code: other.code }, body: { reason: 'x' } }),
  ).rejects.toMatchObject({ status: 404 })
})
