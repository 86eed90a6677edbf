import { receiptCsv } from '@shoal/contract'
import { Big } from 'big.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours, minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { billingTurn } from './turn.ts'

let t: TestApp
let turn: () => Promise<void>

beforeAll(async () => {
  t = await startTestApp()
  turn = billingTurn(t.app)
})
afterAll(() => t.close())

const sql = (text: string, values: unknown[] = []) => t.app.database.pool.query(text, values)

/** A version whose programs the observer has seen since `at`. */
async function running(
  org: TestOrg,
  given: { name: string; isDedicated?: boolean; containers?: string[]; tag?: string },
) {
  const { rows } = await sql(
    `insert into squids (org_id, name, slot, image, is_dedicated, api_profile, processor_profile, created_at)
     values ($1, $2, 'v1', 'an image', $3, $4, $4, $5) returning id`,
    [org.id, given.name, given.isDedicated ?? false, given.isDedicated ? 'small' : 'collocated', t.clock.now()],
  )
  const id = Number((rows[0] as { id: number }).id)
  for (const container of given.containers ?? ['api', 'processor'])
    await sql(
      `insert into container_states (squid_id, generation, container, state, since, restarts, oom_kills, is_out_of_memory)
       values ($1, 1, $2, 'running', $3, 0, 0, false)`,
      [id, container, t.clock.now()],
    )
  if (given.tag)
    await sql(`insert into squid_tags (org_id, squid_name, tag, squid_id) values ($1, $2, $3, $4)`, [
      org.id,
      given.name,
      given.tag,
      id,
    ])
  return id
}

const database = (id: number, profile: string, gibibytes: number) =>
  sql(
    `insert into squid_databases (squid_id, database, role, sealed_password, read_role, sealed_read_password, version, profile, total_bytes)
     values ($1, $2, $2, '', $2, '', '17', $3, $4)`,
    [id, `db_${id}`, profile, gibibytes * 2 ** 30],
  )

async function pass(ms: number, stepMs = minutes(10)) {
  for (let gone = 0; gone < ms; gone += stepMs) {
    t.clock.advance(Math.min(stepMs, ms - gone))
    await turn()
  }
}

const card = async (org: TestOrg, number: string) => {
  const api = t.as(org.admin).billing
  const params = { code: org.code }
  const { create } = await api.getSettings({ params })
  const entered = await api.enterTestCard({
    params,
    body: { ...create, number, expMonth: 12, expYear: 2035, cvc: '123', authentication: 'complete' },
  })
  if (entered.error) return entered.error
  return (await api.addPaymentMethod({ params, body: create })).status
}

test('what runs is metered and stands on the receipt, in both views to the same sum', async () => {
  const org = await t.make.org()
  const api = t.as(await t.make.member(org, 'viewer')).billing
  const params = { code: org.code }
  await turn()
  const big = await running(org, { name: 'big', isDedicated: true, containers: ['api', 'api-2', 'evm', 'init'] })
  await database(big, 'medium', 10)
  await running(org, { name: '=small', containers: ['api', 'processor'] })
  await pass(hours(5) + minutes(30))

  const month = { ...params, year: '2026', month: '01' }
  const bySquid = await api.getReceipt({ params: month, query: { bySquid: 'true' } })
  const merged = await api.getReceipt({ params: month })
  expect(bySquid.items.map((i) => [i.squid?.name, i.type, i.amount, i.rate, i.subtotal])).toEqual([
    ['big@v1', 'postgres.medium', '5.5', '0.16', '0.88'],
    ['big@v1', 'api.small', '11', '0.04', '0.44'],
    ['big@v1', 'processor.small', '5.5', '0.04', '0.22'],
    ['=small@v1', 'collocated', '5.5', '0.02', '0.11'],
    ['big@v1', 'storage', '55', '0.00069444', '0.03819444'],
  ])
  expect(merged.items.every((item) => item.squid === null)).toBe(true)
  const sum = (items: { subtotal: string }[]) => items.reduce((s, i) => s.plus(i.subtotal), new Big(0)).toFixed()
  expect([sum(bySquid.items), sum(merged.items)]).toEqual([merged.subTotal, merged.subTotal])
  expect(merged).toMatchObject({ subTotal: '1.68819444', tax: { percent: '8.1', amount: '0.14' }, total: '1.83' })
  expect(receiptCsv(bySquid.items, true)).toContain(`'=small@v1;Collocated squid;5.5;0.02;0.11;0;0.11\r\n`)

  const summary = await api.getSummary({ params })
  expect(summary).toMatchObject({
    soFarUsd: '1.68819444',
    perHourUsd: '0.30694444',
    status: 'ACTIVE',
    unpaidUsd: '0.00',
  })
  expect(summary.daily.at(-1)).toEqual({ day: '2026-01-15', amountUsd: '1.68819444' })
  const one = await api.getSquidCost({ params: { ...params, reference: 'big@v1' } })
  expect(one.soFarUsd).toBe('1.57819444')
})

test('an estimate says what a manifest costs, and a playground pays nothing', async () => {
  const org = await t.make.org()
  const manifest = JSON.stringify({
    manifest_version: 'subsquid.io/v0.1',
    name: 'estimated',
    deploy: {
      addons: { postgres: {} },
      api: { cmd: ['a'] },
      processor: [
        { name: 'x', cmd: ['x'] },
        { name: 'y', cmd: ['y'] },
      ],
    },
    scale: { dedicated: true, api: { profile: 'medium', replicas: 2 }, processor: { profile: 'large' } },
  })
  const estimate = await t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest } })
  expect(estimate.items.map((i) => [i.type, i.count, i.perHourUsd])).toEqual([
    ['api.medium', '2', '0.16'],
    ['processor.large', '2', '0.3'],
    ['postgres.small', '1', '0.08'],
    ['storage', '10', '0.00694444'],
  ])
  expect(estimate.perMonthUsd).toBe('393.80')
  const free = { code: org.admin.playground.code }
  expect(await t.as(org.admin).billing.estimate({ params: free, body: { manifest } })).toMatchObject({ items: [] })
  await expect(
    t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest: 'nothing: 1' } }),
  ).rejects.toMatchObject({ status: 400 })
})

test('a card makes a draft active; what the bank refuses does not', async () => {
  const org = await t.make.org({ status: 'DRAFT' })
  expect(await card(org, '4000 0000 0000 0002')).toBe('Your card was declined.')
  expect(await card(org, '4000000000009995')).toBe('Your card has insufficient funds.')
  expect(await card(org, '4000000000000069')).toBe('Your card has expired.')
  expect(await card(org, '4000000000000119')).toMatch('An error occurred while processing your card.')
  expect(await t.as(org.admin).orgs.get({ params: { code: org.code } })).toMatchObject({ status: 'DRAFT' })
  expect(await card(org, '4242 4242 4242 4242')).toBe('ACTIVE')
  const settings = await t.as(org.admin).billing.getSettings({ params: { code: org.code } })
  expect(settings.existing).toMatchObject([{ card: { last4: '4242', exp_month: 12, exp_year: 2035 }, link: null }])
})
