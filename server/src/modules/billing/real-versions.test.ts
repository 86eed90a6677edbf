import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours } from '../../clock.ts'
import { until } from '../../testing/until.ts'
import { startDeployApp, type DeployApp } from '../deployments/testing/deploy-app.ts'
import { startObserving } from '../observing/index.ts'
import { invoices } from './tables.ts'
import { billingRound } from './round.ts'

let t: DeployApp
let turn: () => Promise<void>
const close: (() => Promise<void>)[] = []

beforeAll(async () => {
  t = await startDeployApp()
  close.push(t.close)
  turn = billingRound(t.app)
  const observing = startObserving(t.app, {
    containersMs: 20,
    processorsMs: 1000,
    apisMs: 1000,
    databasesMs: 1000,
    headsMs: 1000,
    sourcesMs: 1000,
  })
  const worker = t.work()
  close.push(observing.close, worker.close)
})
afterAll(async () => {
  for (const end of close.toReversed()) await end()
})

test(
  'a version of the engine is metered as it was observed, hibernated for a debt, and woken by paying',
  { timeout: 60_000 },
  async () => {
    const who = await t.deployer()
    const params = { code: who.org.code }
    const { billing } = t.as({ token: await t.make.token(who.org.admin) })
    await turn()
    const scale = { dedicated: true, api: { profile: 'small', replicas: 2 }, processor: { profile: 'medium' } }
    await who.deployed({ scale, processors: { one: {}, two: {} } }, { name: 'real', slot: 'v1' })
    const typesNow = async () => {
      t.time.advance(1_000)
      await turn()
      const { perHourUsd } = await billing.getSummary({ params })
      return perHourUsd
    }
    // Two replicas, two processors, a small database and its 10 GB.
    await until(async () => expect(await typesNow()).toBe('0.32694444'))
    t.time.advance(hours(1))
    await turn()
    const at = t.time.now()
    const month = { ...params, year: String(at.getUTCFullYear()), month: String(at.getUTCMonth() + 1) }
    const receipt = await billing.getReceipt({ params: month })
    const amounts = Object.fromEntries(receipt.items.map((item) => [item.type, Number(item.amount)]))
    expect(Object.keys(amounts).sort()).toEqual(['api.small', 'postgres.small', 'processor.medium', 'storage'])
    for (const [type, hour] of [
      ['api.small', 2],
      ['processor.medium', 2],
      ['postgres.small', 1],
      ['storage', 10],
    ] as const) {
      expect(amounts[type]).toBeGreaterThanOrEqual(hour)
      expect(amounts[type]).toBeLessThan(hour * 1.2)
    }

    const receiptOf = { ...receipt, isClosed: true, invoice: null }
    const customer = { code: who.org.code, name: who.org.name, details: null }
    await t.app.db.insert(invoices).values({
      number: 1,
      orgId: who.org.id,
      month: '2020-01',
      closedAt: at,
      receipt: receiptOf,
      customer,
      totalUsd: '9.99',
    })
    for (let day = 0; day < 30; day++) {
      await turn()
      t.time.advance(days(1))
    }
    const isRunning = async () => (await typesNow()) === '0.32694444'
    await until(async () => expect(await typesNow()).toBe('0.00694444'))
    expect(await t.as({ token: await t.make.token(who.org.admin) }).orgs.get({ params })).toMatchObject({
      status: 'TERMINATED',
    })

    const { create } = await billing.getSettings({ params })
    const card = { ...create, number: '4242424242424242', expMonth: 12, expYear: 2090, cvc: '123' }
    await billing.enterTestCard({ params, body: card })
    expect((await billing.addPaymentMethod({ params, body: create })).status).toBe('ACTIVE')
    await until(async () => expect(await isRunning()).toBe(true))
  },
)
