import { monthCsv } from '@shoal/contract'
import { Big } from 'big.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours, minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { setDiscount, setStatus } from './operator.ts'
import { startScenario, type BillingScenario } from './testing/scenario.ts'

let t: TestApp
let runRound: () => Promise<void>
let scenario: BillingScenario
const addVersion: BillingScenario['addVersion'] = (...args) => scenario.addVersion(...args)
const addDatabase: BillingScenario['addDatabase'] = (...args) => scenario.addDatabase(...args)
const advance: BillingScenario['advance'] = (...args) => scenario.advance(...args)
const addCard: BillingScenario['addCard'] = (...args) => scenario.addCard(...args)

beforeAll(async () => {
  t = await startTestApp()
  scenario = startScenario(t)
  runRound = scenario.runRound
})
afterAll(() => t.close())

const sql = (text: string, values: unknown[] = []) => t.app.database.pool.query(text, values)

test('running programs are metered and billed; items by squid and merged items have the same total', async () => {
  const org = await t.make.org()
  const api = t.as(await t.make.member(org, 'viewer')).billing
  const params = { code: org.code }
  await runRound()
  const big = await addVersion(org, { name: 'big', isDedicated: true, containers: ['api', 'api-2', 'evm', 'init'] })
  await addDatabase(big, 'medium', 10)
  await addVersion(org, { name: '=small', containers: ['api', 'processor'] })
  await advance(hours(5) + minutes(30))

  const month = { ...params, year: '2026', month: '01' }
  const bySquid = await api.getReceipt({ params: month, query: { bySquid: 'true' } })
  const merged = await api.getReceipt({ params: month })
  expect(bySquid.items.map((i) => [i.squid?.name, i.type, i.amount, i.rate, i.subtotal])).toEqual([
    ['big@v1', 'postgres.medium', '5.5', '0.16', '0.88'],
    ['big@v1', 'api.small', '11', '0.04', '0.44'],
    ['big@v1', 'processor.small', '5.5', '0.04', '0.22'],
    ['=small@v1', 'collocated', '5.5', '0.02', '0.11'],
    ['big@v1', 'storage', '55', '0.0006944444444444', '0.03819444'],
  ])
  for (const { amount, rate, subtotal } of bySquid.items)
    expect(new Big(amount).times(rate).round(8).toFixed()).toBe(subtotal)
  expect(merged.items.every((item) => item.squid === null)).toBe(true)
  const sum = (items: { subtotal: string }[]) => items.reduce((s, i) => s.plus(i.subtotal), new Big(0)).toFixed()
  expect([sum(bySquid.items), sum(merged.items)]).toEqual([merged.subTotal, merged.subTotal])
  expect(merged).toMatchObject({ subTotal: '1.68819444', tax: { percent: '8.1', amount: '0.14' }, total: '1.83' })
  expect(monthCsv(bySquid.items, true)).toContain(`'=small@v1;Collocated squid;5.5;0.02;0.11;0;0.11\r\n`)

  const file = await t.http.inject({
    url: `/api/v1/orgs/${org.code}/billing/receipts`,
    headers: { authorization: `Bearer ${org.admin.token}` },
  })
  expect(file.headers['content-disposition']).toBe(`attachment; filename="receipts-${org.code}.csv"`)
  expect(file.body.split('\r\n').slice(0, 2)).toEqual([
    'Month;Squid name;Type;Amount;Rate;Cost;Discount;Subtotal',
    '2026-01;big@v1;"Postgres addon, medium";5.5;0.16;0.88;0;0.88',
  ])

  const summary = await api.getSummary({ params })
  expect(summary).toMatchObject({
    soFarUsd: '1.68819444',
    perHourUsd: '0.30694444',
    status: 'ACTIVE',
    unpaidUsd: '0.00',
  })
  expect(summary.daily.at(-1)).toEqual({ day: '2026-01-15', amountUsd: '1.68819444' })
  const squidCost = await api.getSquidCost({ params: { ...params, reference: 'big@v1' } })
  expect(squidCost.soFarUsd).toBe('1.57819444')
})

test('an estimate returns the price of a manifest, and is free for a playground', async () => {
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
  expect(estimate).toMatchObject({ perMonthUsd: '393.80', discountPercent: '0' })
  await setDiscount(t.app, org.id, '50')
  const discounted = await t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest } })
  expect(discounted).toMatchObject({ items: estimate.items, perMonthUsd: '196.90', discountPercent: '50' })
  const playground = { code: org.admin.playground.code }
  const collocated = manifest.replace('"dedicated":true', '"dedicated":false')
  expect(await t.as(org.admin).billing.estimate({ params: playground, body: { manifest: collocated } })).toMatchObject({
    items: [],
  })
  await expect(
    t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest: 'nothing: 1' } }),
  ).rejects.toMatchObject({ status: 400 })
})

test('addons that cannot be deployed are rejected in estimates and absent from the price list', async () => {
  const org = await t.make.org()
  const manifestWith = (addon: string) =>
    JSON.stringify({ name: 'priced', deploy: { addons: { [addon]: {} }, processor: { cmd: ['x'] } } })
  for (const addon of ['hasura', 'neon'])
    await expect(
      t.as(org.admin).billing.estimate({ params: { code: org.code }, body: { manifest: manifestWith(addon) } }),
    ).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`This installation does not offer the addon ${addon}.`) as string,
    })
  const [list] = await t.as(org.admin).billing.getPrices()
  const resources = list?.rates.map(({ type }) => type.split('.')[0])
  expect([...new Set(resources)]).toEqual(['api', 'processor', 'postgres', 'collocated', 'storage', 'rpc'])
})

test('billing details require a valid country code, because the tax depends on it', async () => {
  const org = await t.make.org()
  const save = (country: string) =>
    t.as(org.admin).billing.updateSettings({
      params: { code: org.code },
      body: { name: 'A', email: 'a@example.com', country, city: 'B', postalCode: '1', addressLine1: 'C 1' },
    })
  for (const country of ['ZZ', 'XX', 'C', 'CHE'])
    await expect(save(country)).rejects.toMatchObject({
      status: 400,
      message: 'Country must be a two-letter code of ISO 3166-1',
    })
  expect((await save('ch')).country).toBe('CH')
})

test('a status set by the operator hibernates and restarts versions, and a payment with nothing due does not change it', async () => {
  const org = await t.make.org()
  await addCard(org, '4242424242424242')
  const squid = await addVersion(org, { name: 'stopped' })
  await runRound()
  await setStatus(t.app, org.id, 'TERMINATED')
  await runRound()
  expect(await actionsOf(squid)).toEqual(['HIBERNATE'])
  await completeAction(squid, 'hibernated')
  const params = { code: org.code }
  await expect(t.as(org.admin).billing.pay({ params })).rejects.toMatchObject({
    status: 405,
    message: expect.stringContaining('Nothing is due.') as string,
  })
  expect(await statusOf(org)).toBe('TERMINATED')
  await setStatus(t.app, org.id, 'ACTIVE')
  await runRound()
  expect(await actionsOf(squid)).toEqual(['HIBERNATE', 'RESTART'])
  expect(await auditOf(org)).toEqual(['TERMINATED', 'ACTIVE'])
})

test('a valid card activates a draft organization; a declined card does not', async () => {
  const org = await t.make.org({ status: 'DRAFT' })
  expect(await addCard(org, '4000 0000 0000 0002')).toBe('Your card was declined.')
  expect(await addCard(org, '4000000000009995')).toBe('Your card has insufficient funds.')
  expect(await addCard(org, '4000000000000069')).toBe('Your card has expired.')
  expect(await addCard(org, '4242424242424242', { expMonth: 12, expYear: 2020 })).toBe('Your card has expired.')
  expect(await addCard(org, '4000000000000119')).toMatch('An error occurred while processing your card.')
  expect(await t.as(org.admin).orgs.get({ params: { code: org.code } })).toMatchObject({ status: 'DRAFT' })
  expect(await addCard(org, '4242 4242 4242 4242')).toBe('ACTIVE')
  const settings = await t.as(org.admin).billing.getSettings({ params: { code: org.code } })
  expect(settings.existing).toMatchObject([{ card: { last4: '4242', exp_month: 12, exp_year: 2035 }, link: null }])
})

const statusOf = async (org: TestOrg) => (await t.as(org.admin).orgs.get({ params: { code: org.code } })).status
const actionsOf = async (id: number) => {
  const { rows } = await sql(`select type from deployments where squid_id = $1 order by id`, [id])
  return (rows as { type: string }[]).map((row) => row.type)
}
/** Records the result of a requested action, as the deploy engine would. */
async function completeAction(id: number, desiredState: 'running' | 'hibernated') {
  await sql(`update deployments set finished_at = $2, status = 'OK' where squid_id = $1`, [id, t.clock.now()])
  await sql(`update squids set desired_state = $2, last_deploy = null where id = $1`, [id, desiredState])
  if (desiredState === 'hibernated') await sql(`delete from container_states where squid_id = $1`, [id])
}
const auditOf = async (org: TestOrg) => {
  const { rows } = await sql(
    `select after ->> 'status' as status from audit_log where org_id = $1 and action = 'billing.changeStatus' order by id`,
    [org.id],
  )
  return (rows as { status: string }[]).map((row) => row.status)
}

test('a finished month is invoiced; an organization that does not pay becomes TERMINATED step by step, and ACTIVE again when it pays', async () => {
  const created = await t.make.org()
  // A session would expire before the scenario ends.
  const org = { ...created, admin: { ...created.admin, token: await t.make.token(created.admin) } }
  const api = t.as(org.admin).billing
  const params = { code: org.code }
  await addCard(org, '4000000000000341')
  await runRound()
  const id = await addVersion(org, { name: 'debtor', isDedicated: true, containers: ['api'] })
  t.clock.advance(Date.parse('2026-01-31T23:30:00Z') - t.clock.now().getTime())
  await sql(
    `insert into rpc_usage (org_id, hour, chain, method, version, requests, failures) values ($1, $2, 'eth', 'eth_call', $3, 3500000, 1)`,
    [org.id, new Date('2026-01-31T22:00:00Z'), String(id)],
  )
  await runRound()
  await advance(hours(2))
  const month = { ...params, year: '2026', month: '1' }
  const closedReceipt = await api.getReceipt({ params: month })
  expect(closedReceipt).toMatchObject({ isClosed: true, invoice: { status: 'open' } })
  expect(closedReceipt.discounts).toEqual([{ type: 'rpc_included', percent: '100', amount: '4' }])
  const [invoice] = await api.listInvoices({ params })
  expect(invoice?.totalUsd).toBe(closedReceipt.total)
  const pdf = await t.http.inject({
    url: `/api/v1/orgs/${org.code}/billing/receipts/2026/01/invoice`,
    headers: { authorization: `Bearer ${org.admin.token}` },
  })
  expect([pdf.headers['content-type'], pdf.body.slice(0, 5)]).toEqual(['application/pdf', '%PDF-'])
  expect(await statusOf(org)).toBe('PAYMENT_ISSUES')

  // RPC requests of a closed month that are counted late are billed in the next month; the closed receipt stays unchanged.
  await sql(`update rpc_usage set requests = requests + 1000000 where org_id = $1`, [org.id])
  await advance(hours(1))
  expect(await api.getReceipt({ params: month })).toEqual(closedReceipt)
  const next = await api.getReceipt({ params: { ...params, year: '2026', month: '2' } })
  expect(next.items.find((item) => item.type === 'rpc')?.amount).toBe('1')

  await advance(hours(24 * 14), hours(6))
  expect(await statusOf(org)).toBe('IN_DEBT')
  expect((await api.getSummary({ params })).unpaidUsd).toBe(closedReceipt.total)
  const { rows: charges } = await sql(`select key from charges where org_id = $1`, [org.id])
  expect(charges).toHaveLength(9)
  expect(await actionsOf(id)).toEqual([])

  await advance(hours(24 * 14) + hours(6), hours(6))
  expect(await statusOf(org)).toBe('TERMINATED')
  expect(await actionsOf(id)).toEqual(['HIBERNATE'])
  await completeAction(id, 'hibernated')

  expect(await addCard(org, '4242424242424242')).toBe('ACTIVE')
  await runRound()
  expect(await actionsOf(id)).toEqual(['HIBERNATE', 'RESTART'])
  expect((await api.getReceipt({ params: month })).invoice?.status).toBe('paid')
  const steps = await auditOf(org)
  expect(steps.filter((status, i) => status !== steps[i - 1])).toEqual([
    'PAYMENT_ISSUES',
    'IN_DEBT',
    'TERMINATED',
    'ACTIVE',
  ])
  const subjects = (await t.mails()).filter((mail) => mail.to === org.admin.email).map((mail) => mail.subject)
  expect(subjects.filter((s) => s === `Payment of ${org.name} failed`)).toHaveLength(8)
  expect(subjects).toEqual(
    expect.arrayContaining([
      `Payment of ${org.name} is overdue`,
      `Squids of ${org.name} are hibernated`,
      `${org.name} is active`,
    ]),
  )
  await completeAction(id, 'running')
})

test('as spending approaches the cap, warnings are sent and versions are hibernated in the configured order; raising the cap restarts them', async () => {
  const org = await t.make.org()
  const api = t.as(org.admin).billing
  const params = { code: org.code }
  await api.updateLimits({
    params,
    body: { spendCapUsd: '10', atCap: 'hibernate', hibernateOrder: ['second', 'first'], rpcRequestsCap: 500 },
  })
  await runRound()
  const large = { isDedicated: true, containers: ['api', 'a', 'b', 'c', 'd'] }
  const prod = await addVersion(org, { name: 'prod', ...large, tag: 'prod' })
  const first = await addVersion(org, { name: 'first', ...large })
  const second = await addVersion(org, { name: 'second', ...large })
  const hibernatedIds: number[] = []
  for (let i = 0; i < 200 && hibernatedIds.length < 3; i++) {
    await advance(minutes(15), minutes(15))
    for (const id of [prod, first, second])
      if (!hibernatedIds.includes(id) && (await actionsOf(id)).includes('HIBERNATE')) {
        hibernatedIds.push(id)
        await completeAction(id, 'hibernated')
      }
  }
  expect(hibernatedIds).toEqual([second, first, prod])
  const limits = await api.getLimits({ params })
  expect(Number(limits.spentUsd)).toBeGreaterThan(9.9)
  expect(Number(limits.spentUsd)).toBeLessThanOrEqual(10.05)
  expect(limits).toMatchObject({
    rpcRequestsCap: 500,
    hibernatedByCap: expect.arrayContaining([{ id: prod, name: 'prod@v1' }]),
  })
  expect(limits.deploysStoppedUntil).not.toBeNull()
  const restart = t.as(org.admin).squids.restart({ params: { ...params, reference: 'prod@v1' } })
  await expect(restart).rejects.toMatchObject({ status: 405, message: expect.stringContaining('spending cap') })
  const mails = (await t.mails()).filter((mail) => mail.subject.includes('spending cap') && mail.to === org.admin.email)
  expect(mails.map((mail) => /\d+ %/.exec(mail.subject)?.[0])).toEqual(['100 %', '90 %', '75 %'])

  await api.updateLimits({ params, body: { spendCapUsd: '1000', atCap: 'stop_deploys', rpcRequestsCap: 500 } })
  await runRound()
  expect(await actionsOf(first)).toEqual(['HIBERNATE', 'RESTART'])
  expect((await api.getLimits({ params })).deploysStoppedUntil).toBeNull()
})
