import { billableLabel } from '@shoal/contract'
import { renderMail } from '../../../mail/index.ts'
import type { Mail } from '../../../mail/mailer.ts'
import type { OrgRow } from '../../orgs/index.ts'
import { invoiceNumber } from '../payments/collect.ts'
import type { InvoiceRow } from '../payments/payment-store.ts'
import { mergeSquids } from '../receipts/receipt.ts'

/** The last that a deleted organization hears: its last receipts in full, and whether they are paid. */
export function finalMail(to: string, org: OrgRow, invoices: readonly InvoiceRow[], error: string | null): Mail {
  const name = org.name ?? org.code
  return renderMail({
    to,
    subject: `Final invoice of ${name}`,
    name: null,
    paragraphs: [
      `${name} has been deleted, and nothing of it runs any more. This is what was used until then.`,
      ...invoices.flatMap(linesOf),
      error === null
        ? 'It is paid. The cards on file have been forgotten.'
        : `Payment method couldn't be charged. The bank said: ${error} Reply to this mail to pay in another way.`,
    ],
  })
}

function linesOf({ number, month, receipt }: InvoiceRow): string[] {
  const { items, discounts, tax, total } = mergeSquids(receipt)
  return [
    `Invoice ${invoiceNumber(number)} for ${month}:`,
    ...items.map((item) => `${billableLabel(item.type)}: ${item.amount} × $${item.rate} = $${item.subtotal}`),
    ...discounts.map(({ amount }) => `Discount: −$${amount}`),
    `VAT ${tax.percent} %: $${tax.amount}. Total: $${total}`,
  ]
}
