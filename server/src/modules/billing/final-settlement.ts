import { isUnpaid, billableLabel } from '@shoal/contract'
import type { App } from '../../app.ts'
import { changeOrg, getOrg, type OrgRow } from '../orgs/index.ts'
import { readMeter } from './metering/meter-store.ts'
import { chargeUnpaidInvoices, invoiceNumber } from './payments/collect.ts'
import { deleteMethod } from './payments/methods.ts'
import { listPaymentMethods, listUnpaid, type StoredInvoice } from './payments/payment-store.ts'
import type { PaymentProvider } from './payments/provider.ts'
import type { PriceBook } from './prices/price-book.ts'
import { listOpenMonths, listUnsettledDeletedOrgs, selectInvoice } from './receipts/invoice-store.ts'
import { closeMonth } from './receipts/months.ts'
import { recipientsOf } from './account-status/apply-event.ts'
import { nameInMail, renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'
import { mergeSquids } from './receipts/receipt.ts'

/**
 * Settles deleted organizations. Once an organization has no versions left, closes its open months, charges the invoices and
 * emails them. When all invoices are paid, or all attempts have failed, deletes the cards and marks the organization as settled,
 * so that its row may be removed.
 */
export async function settleDeletedOrgs(app: App, book: PriceBook, provider: PaymentProvider): Promise<void> {
  const meter = await readMeter(app.db)
  for (const orgId of await listUnsettledDeletedOrgs(app.db, meter?.recordedUntilMs ?? 0))
    await settleOrg(app, book, provider, orgId).catch((error: unknown) =>
      app.log.error({ err: error, orgId }, 'failed to settle a deleted organization'),
    )
}

async function settleOrg(app: App, book: PriceBook, provider: PaymentProvider, orgId: number): Promise<void> {
  const months = await listOpenMonths(app.db, orgId)
  for (const month of months) await closeMonth(app, book, orgId, month)
  if (months.length > 0) {
    const { error } = await chargeUnpaidInvoices(app, provider, orgId, { isScheduled: false })
    await sendFinalMails(app, orgId, months, error)
  }
  const { status } = await getOrg(app.db, orgId)
  const methods = await listPaymentMethods(app.db, orgId)
  const isUncollectible = isUnpaid(status) || methods.length === 0
  if ((await listUnpaid(app.db, orgId)).length > 0 && !isUncollectible) return
  for (const { id } of methods) await deleteMethod(app, provider, { id: orgId }, id)
  await changeOrg(app.db, orgId, { settledAt: app.clock.now() })
}

/** Users can no longer open the invoices of a deleted organization, so the email is their only copy. */
async function sendFinalMails(app: App, orgId: number, months: string[], error: string | null): Promise<void> {
  const org = await getOrg(app.db, orgId)
  const invoices = await Promise.all(months.map((month) => selectInvoice(app.db, orgId, month)))
  const closedInvoices = invoices.filter((invoice) => invoice !== null)
  for (const to of await recipientsOf(app.db, org)) await app.mailer.send(finalMail(to, org, closedInvoices, error))
}

/** Returns the final email to a deleted organization: its last invoices in full, and whether they are paid. */
export function finalMail(to: string, org: OrgRow, invoices: readonly StoredInvoice[], error: string | null): Mail {
  const name = nameInMail(org.name ?? org.code)
  return renderMail({
    to,
    subject: `Final invoice of ${name}`,
    name: null,
    paragraphs: [
      `${name} has been deleted, and all its programs have stopped. This is its usage until then.`,
      ...invoices.flatMap(linesOf),
      error === null
        ? `${invoices.length === 1 ? 'It is' : 'All are'} paid. The cards on file have been deleted.`
        : `Payment method couldn't be charged. Reason: ${error} Reply to this email to pay in another way.`,
    ],
  })
}

function linesOf({ number, month, receipt }: StoredInvoice): string[] {
  const { items, discounts, tax, total } = mergeSquids(receipt)
  return [
    `Invoice ${invoiceNumber(number)} for ${month}:`,
    ...items.map((item) => `${billableLabel(item.type)}: ${item.amount} × $${item.rate} = $${item.subtotal}`),
    ...discounts.map(({ amount }) => `Discount: −$${amount}`),
    `VAT ${tax.percent} %: $${tax.amount}. Total: $${total}`,
  ]
}
