import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours, minutes } from '../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { removeOrg } from '../deployments/reconcile.ts'
import { startScenario, type BillingScenario } from './testing/scenario.ts'

let t: TestApp
let scenario: BillingScenario
beforeAll(async () => {
  t = await startTestApp()
  scenario = startScenario(t)
})
afterAll(() => t.close())

type Row = Record<string, unknown>
const rows = async (text: string, values: unknown[]) => (await t.app.database.pool.query<Row>(text, values)).rows
const invoicesOf = (org: TestOrg) =>
  rows(`select month, total_usd, paid_at is not null as paid from invoices where org_id = $1 order by number`, [org.id])
const orgExists = async (org: TestOrg) => (await rows(`select from orgs where id = $1`, [org.id])).length > 0
const mailsTo = async (org: TestOrg) =>
  (await t.mails()).filter((mail) => mail.to === org.admin.email && mail.subject === `Final invoice of ${org.name}`)

/** Deletes the versions of a deleted organization, as the deploy engine does. */
async function deleteVersions(org: TestOrg) {
  await t.app.database.pool.query(`delete from squids where org_id = $1`, [org.id])
}

/** Runs a small dedicated version for 30 hours, at $0.04 per hour, then deletes its organization. */
async function createDeletedOrg(number: string): Promise<TestOrg> {
  const org = await t.make.org()
  await scenario.addCard(org, number)
  await scenario.runRound()
  await scenario.addVersion(org, { name: 'billed', isDedicated: true, containers: ['api'] })
  await scenario.advance(hours(30))
  await t.as(org.admin).orgs.delete({ params: { code: org.code } })
  return org
}

test('the last month of a deleted organization is charged once its versions are deleted, and the invoice is emailed', async () => {
  const org = await createDeletedOrg('4242424242424242')
  await scenario.advance(hours(3))
  // The version still exists, so it is metered and the account stays open.
  expect(await invoicesOf(org)).toEqual([])
  await deleteVersions(org)
  await removeOrg(t.app, org.id)
  expect(await orgExists(org)).toBe(true)

  await scenario.advance(hours(1) + minutes(10))
  const [invoice] = await invoicesOf(org)
  // 33 hours at $0.04, plus 8.1 % tax.
  expect(invoice).toEqual({ month: '2026-01', total_usd: '1.43000000', paid: true })
  const charges = await rows(`select amount_cents, status from charges where org_id = $1`, [org.id])
  expect(charges).toEqual([{ amount_cents: 143, status: 'succeeded' }])
  expect(await rows(`select from payment_methods where org_id = $1`, [org.id])).toEqual([])
  const [mail, ...otherMails] = await mailsTo(org)
  expect(otherMails).toEqual([])
  expect(mail?.text).toContain('API, small: 33 × $0.04 = $1.32')
  expect(mail?.text).toContain('VAT 8.1 %: $0.11. Total: $1.43')
  expect(mail?.text).toContain('It is paid.')

  await scenario.advance(days(1), hours(6))
  expect(await invoicesOf(org)).toHaveLength(1)
  await removeOrg(t.app, org.id)
  expect(await orgExists(org)).toBe(false)
  expect(await invoicesOf(org)).toHaveLength(1)
})

test('a failing card is retried for fourteen days; then the invoice stays unpaid and the organization is removed', async () => {
  const org = await createDeletedOrg('4000000000000341')
  await deleteVersions(org)
  await scenario.advance(hours(2))
  expect(await invoicesOf(org)).toMatchObject([{ paid: false }])
  const [mail] = await mailsTo(org)
  expect(mail?.text).toContain("Payment method couldn't be charged. Reason: Your card was declined.")
  await removeOrg(t.app, org.id)
  expect(await orgExists(org)).toBe(true)
  await scenario.advance(days(15), hours(6))
  expect(await rows(`select from charges where org_id = $1`, [org.id])).toHaveLength(9)
  expect(await rows(`select from payment_methods where org_id = $1`, [org.id])).toEqual([])
  await removeOrg(t.app, org.id)
  expect(await orgExists(org)).toBe(false)
  expect(await invoicesOf(org)).toMatchObject([{ paid: false }])
})

test('an organization without usage is removed without an email', async () => {
  const org = await t.make.org({ status: 'DRAFT' })
  await t.as(org.admin).orgs.delete({ params: { code: org.code } })
  await scenario.advance(hours(1))
  expect([await invoicesOf(org), await mailsTo(org)]).toEqual([[], []])
  await removeOrg(t.app, org.id)
  expect(await orgExists(org)).toBe(false)
})
