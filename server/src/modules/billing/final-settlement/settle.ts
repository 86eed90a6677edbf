import { isUnpaid } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { changeOrg, getOrg } from '../../orgs/index.ts'
import { readMeter } from '../metering/meter-store.ts'
import { chargeUnpaidInvoices } from '../payments/collect.ts'
import { deleteMethod } from '../payments/methods.ts'
import { listPaymentMethods, listUnpaid } from '../payments/payment-store.ts'
import type { PaymentProvider } from '../payments/provider.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { selectInvoice } from '../receipts/invoice-store.ts'
import { closeMonth } from '../receipts/months.ts'
import { recipientsOf } from '../account-status/apply-event.ts'
import { finalMail } from './final-mail.ts'
import { listUnsettledDeletedOrgs, listOpenMonths } from './settlement-store.ts'

/**
 * Ends the accounts of organizations that were deleted: once nothing of them runs, the month they were in is closed with a last
 * invoice and charged. When that is paid, or all tries have failed, their cards are forgotten and the organization may go.
 */
export async function settleDeleted(app: App, book: PriceBook, provider: PaymentProvider): Promise<void> {
  const meter = await readMeter(app.db)
  for (const orgId of await listUnsettledDeletedOrgs(app.db, meter?.recordedUntilMs ?? 0))
    await settleOne(app, book, provider, orgId).catch((error: unknown) =>
      app.log.error({ err: error, orgId }, 'a deleted organization could not be settled with'),
    )
}

async function settleOne(app: App, book: PriceBook, provider: PaymentProvider, orgId: number): Promise<void> {
  const months = await listOpenMonths(app.db, orgId)
  for (const month of months) await closeMonth(app, book, orgId, month)
  if (months.length > 0) {
    const { error } = await chargeUnpaidInvoices(app, provider, orgId, { isScheduled: false })
    await sendFinalMails(app, orgId, months, error)
  }
  const { status } = await getOrg(app.db, orgId)
  const methods = await listPaymentMethods(app.db, orgId)
  const isHopeless = isUnpaid(status) || methods.length === 0
  if ((await listUnpaid(app.db, orgId)).length > 0 && !isHopeless) return
  for (const { id } of methods) await deleteMethod(app, provider, { id: orgId }, id)
  await changeOrg(app.db, orgId, { settledAt: app.clock.now() })
}

/** The invoices themselves cannot be looked at any more: the mail is what is left of them. */
async function sendFinalMails(app: App, orgId: number, months: string[], error: string | null): Promise<void> {
  const org = await getOrg(app.db, orgId)
  const invoices = await Promise.all(months.map((month) => selectInvoice(app.db, orgId, month)))
  const closed = invoices.filter((invoice) => invoice !== null)
  for (const to of await recipientsOf(app.db, org)) await app.mailer.send(finalMail(to, org, closed, error))
}
