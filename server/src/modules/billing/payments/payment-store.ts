// Reads tables of other modules: orgs. Selects organizations by account status.

import type { PaymentMethod } from '@shoal/contract'
import { and, asc, desc, eq, isNull, ne, sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { billingAccounts, billingEvents, charges, invoices, paymentMethods, testSetups } from '../tables.ts'

export type AccountRow = typeof billingAccounts.$inferSelect
export type StoredInvoice = typeof invoices.$inferSelect
export type ChargeRow = typeof charges.$inferSelect

/** Returns an organization's billing account; creates it on first use. */
export async function accountOf(db: Db, orgId: number): Promise<AccountRow> {
  await db.insert(billingAccounts).values({ orgId }).onConflictDoNothing()
  const [row] = await db.select().from(billingAccounts).where(eq(billingAccounts.orgId, orgId))
  if (!row) throw new Error(`Organization ${orgId} does not exist`)
  return row
}

/** Changes columns of an organization's billing account; creates the account on first use. */
export async function changeBillingAccount(
  db: Db,
  orgId: number,
  change: Partial<typeof billingAccounts.$inferInsert>,
): Promise<void> {
  await db
    .insert(billingAccounts)
    .values({ orgId, ...change })
    .onConflictDoUpdate({
      target: billingAccounts.orgId,
      set: change,
    })
}

/** Returns the discounts, in percent, of the organizations that have one. */
export async function listDiscounts(db: Db): Promise<Map<number, string>> {
  const rows = await db
    .select({ orgId: billingAccounts.orgId, discountPercent: billingAccounts.discountPercent })
    .from(billingAccounts)
    .where(ne(billingAccounts.discountPercent, '0'))
  return new Map(rows.map(({ orgId, discountPercent }) => [orgId, discountPercent]))
}

/** Locks the account, so that changes of its charges and status are serialized until the transaction ends. */
export async function lockAccount(db: Db, orgId: number): Promise<AccountRow> {
  await accountOf(db, orgId)
  const [row] = await db.select().from(billingAccounts).where(eq(billingAccounts.orgId, orgId)).for('update')
  if (!row) throw new Error(`Organization ${orgId} does not exist`)
  return row
}

/** Returns the payment methods of an organization. The first one is the default, which is charged. */
export async function listPaymentMethods(db: Db, orgId: number): Promise<PaymentMethod[]> {
  const rows = await db
    .select()
    .from(paymentMethods)
    .where(eq(paymentMethods.orgId, orgId))
    .orderBy(desc(paymentMethods.rank), desc(paymentMethods.addedAt), desc(paymentMethods.id))
  return rows.map(({ id, details }) => ({ id, ...details }))
}

/** Adds a payment method as the default; does nothing if it exists already. */
export async function addPaymentMethod(
  db: Db,
  orgId: number,
  { id, ...details }: PaymentMethod,
  at: Date,
): Promise<void> {
  await db
    .insert(paymentMethods)
    .values({ id, orgId, details, addedAt: at, rank: nextRank(orgId) })
    .onConflictDoNothing()
}

/** Makes a payment method the default by giving it the highest rank. */
export async function setDefaultPaymentMethod(db: Db, orgId: number, id: string): Promise<void> {
  await db
    .update(paymentMethods)
    .set({ rank: nextRank(orgId) })
    .where(and(eq(paymentMethods.orgId, orgId), eq(paymentMethods.id, id)))
}

const nextRank = (orgId: number) =>
  sql<number>`(select coalesce(max(m.rank), 0) + 1 from payment_methods m where m.org_id = ${orgId})`

/** Deletes a payment method. Returns false when the organization has no such method. */
export async function deletePaymentMethod(db: Db, orgId: number, id: string): Promise<boolean> {
  const deletedRows = await db
    .delete(paymentMethods)
    .where(and(eq(paymentMethods.orgId, orgId), eq(paymentMethods.id, id)))
    .returning({ id: paymentMethods.id })
  return deletedRows.length > 0
}

/** Returns the unpaid invoices of an organization, oldest first. */
export function listUnpaid(db: Db, orgId: number): Promise<StoredInvoice[]> {
  return db
    .select()
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), isNull(invoices.paidAt)))
    .orderBy(asc(invoices.number))
}

/** Marks an invoice as paid, unless it is paid already. */
export async function markPaid(db: Db, number: number, at: Date): Promise<void> {
  await db
    .update(invoices)
    .set({ paidAt: at })
    .where(and(eq(invoices.number, number), isNull(invoices.paidAt)))
}

/** Returns the number of attempts to charge an invoice. */
export async function countCharges(db: Db, invoice: number): Promise<number> {
  const [row] = await db
    .select({ n: sql<number>`count(*)::int` })
    .from(charges)
    .where(eq(charges.invoice, invoice))
  return row?.n ?? 0
}

/** Returns the invoice's charge whose outcome is not known yet; null if there is none. */
export async function selectPendingCharge(db: Db, invoice: number): Promise<ChargeRow | null> {
  const [row] = await db
    .select()
    .from(charges)
    .where(and(eq(charges.invoice, invoice), eq(charges.status, 'pending')))
  return row ?? null
}

export async function insertCharge(db: Db, charge: ChargeRow): Promise<void> {
  await db.insert(charges).values(charge)
}

/** Records the outcome of a charge. Returns the charge; null if no charge has this key. */
export async function endCharge(db: Db, key: string, outcome: Partial<ChargeRow>): Promise<ChargeRow | null> {
  const [row] = await db.update(charges).set(outcome).where(eq(charges.key, key)).returning()
  return row ?? null
}

/** Returns the charge with this idempotency key; null if there is none. */
export async function selectCharge(db: Db, key: string): Promise<ChargeRow | null> {
  const [row] = await db.select().from(charges).where(eq(charges.key, key))
  return row ?? null
}

/** Whether an event of the provider was processed. */
export async function isEventRecorded(db: Db, id: string): Promise<boolean> {
  const rows = await db.select().from(billingEvents).where(eq(billingEvents.id, id))
  return rows.length > 0
}

/** Records that an event of the provider was processed. */
export async function recordEvent(db: Db, id: string, at: Date): Promise<void> {
  await db.insert(billingEvents).values({ id, at }).onConflictDoNothing()
}

/** Adds a payment method setup (like Stripe's SetupIntent) of the test provider. */
export async function insertSetup(db: Db, setup: typeof testSetups.$inferInsert): Promise<void> {
  await db.insert(testSetups).values(setup)
}

/** Returns the setup of the test provider with this client secret; null if there is none. */
export async function selectSetup(db: Db, clientSecret: string) {
  const [row] = await db.select().from(testSetups).where(eq(testSetups.clientSecret, clientSecret))
  return row ?? null
}

/** Returns the setup of the test provider that created a payment method; null if there is none. */
export async function selectSetupOfMethod(db: Db, paymentMethodId: string) {
  const [row] = await db.select().from(testSetups).where(eq(testSetups.paymentMethodId, paymentMethodId))
  return row ?? null
}

/** Changes a setup of the test provider. */
export async function changeSetup(
  db: Db,
  clientSecret: string,
  change: Partial<typeof testSetups.$inferInsert>,
): Promise<void> {
  await db.update(testSetups).set(change).where(eq(testSetups.clientSecret, clientSecret))
}

/**
 * Returns the organizations with unpaid invoices that must be charged now (`isDue`), or that are in debt and may have to be terminated.
 * Includes deleted organizations. Omits those whose next retry is later, and those whose account was settled after their deletion.
 */
export async function listOrgsToCollect(db: Db, now: Date): Promise<{ orgId: number; isDue: boolean }[]> {
  const { rows } = await db.execute<{ orgId: number; isDue: boolean }>(sql`
    select o.id as "orgId", (a.failing_since is null or coalesce(a.next_retry_at <= ${now}, false)) as "isDue"
    from orgs o left join billing_accounts a on a.org_id = o.id
    where o.settled_at is null and exists (select from invoices i where i.org_id = o.id and i.paid_at is null)
      and (a.failing_since is null or a.next_retry_at <= ${now} or o.status = 'IN_DEBT')
    order by 1`)
  return rows
}
