import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours } from '../../clock.ts'
import { until } from '../../testing/until.ts'
import { startDeployApp, type DeployApp } from '../deployments/testing/deploy-app.ts'
import { startObserving } from '../observing/index.ts'
import { invoices } from './tables.ts'
import { billingRound } from './round.ts'

let t: DeployApp
let runRound: () => Promise<void>
const closers: (() => Promise<void>)[] = []

beforeAll(async () => {
  t = await startDeployApp()
  closers.push(t.close)
  runRound = billingRound(t.app)
  const observing = startObserving(t.app, {
    containersMs: 20,
    processorsMs: 1000,
    apisMs: 1000,
    databasesMs: 1000,
    statementsMs: 1000,
    locksMs: 1000,
    notificationsMs: 1000,
    headsMs: 1000,
    sourcesMs: 1000,
  })
  const worker = t.startWorker()
  closers.push(observing.close, worker.close)
})
afterAll(async () => {
  for (const close of closers.toReversed()) await close()
})

test(
  'a deployed version is metered as observed, hibernated for debt, and restarted after a payment',
  { timeout: 180_000 },
  async () => {
    const deployer = await t.deployer()
    const params = { code: deployer.org.code }
    const { billing } = t.as({ token: await t.make.token(deployer.org.admin) })
    await runRound()
    const scale = { dedicated: true, api: { profile: 'small', replicas: 2 }, processor: { profile: 'medium' } }
    await deployer.deployAndWait({ scale, processors: { one: {}, two: {} } }, { name: 'real', slot: 'v1' })
    const costPerHour = async () => {
      t.time.advance(1_000)
      await runRound()
      const { perHourUsd } = await billing.getSummary({ params })
      return perHourUsd
    }
    // The cost of two replicas, two processors, and a small database with 10 GB.
    await until(async () => expect(await costPerHour()).toBe('0.32694444'))
    t.time.advance(hours(1))
    await runRound()
    const at = t.time.now()
    const month = { ...params, year: String(at.getUTCFullYear()), month: String(at.getUTCMonth() + 1) }
    const receipt = await billing.getReceipt({ params: month })
    const amounts = Object.fromEntries(receipt.items.map((item) => [item.type, Number(item.amount)]))
    expect(Object.keys(amounts).sort()).toEqual(['api.small', 'postgres.small', 'processor.medium', 'storage'])
    for (const [type, minAmount] of [
      ['api.small', 2],
      ['processor.medium', 2],
      ['postgres.small', 1],
      ['storage', 10],
    ] as const) {
      expect(amounts[type]).toBeGreaterThanOrEqual(minAmount)
      expect(amounts[type]).toBeLessThan(minAmount * 1.2)
    }

    const closedReceipt = { ...receipt, isClosed: true, invoice: null }
    const customer = { code: deployer.org.code, name: deployer.org.name, details: null }
    await t.app.db.insert(invoices).values({
      number: 1,
      orgId: deployer.org.id,
      month: '2020-01',
      closedAt: at,
      receipt: closedReceipt,
      customer,
      totalUsd: '9.99',
    })
    for (let day = 0; day < 30; day++) {
      await runRound()
      t.time.advance(days(1))
    }
    const isRunning = async () => (await costPerHour()) === '0.32694444'
    await until(async () => expect(await costPerHour()).toBe('0.00694444'))
    expect(await t.as({ token: await t.make.token(deployer.org.admin) }).orgs.get({ params })).toMatchObject({
      status: 'TERMINATED',
    })

    const { create } = await billing.getSettings({ params })
    const card = { ...create, number: '4242424242424242', expMonth: 12, expYear: 2090, cvc: '123' }
    await billing.enterTestCard({ params, body: card })
    expect((await billing.addPaymentMethod({ params, body: create })).status).toBe('ACTIVE')
    await until(async () => expect(await isRunning()).toBe(true))
  },
)
