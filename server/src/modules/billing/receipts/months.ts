import type { Receipt } from '@shoal/contract'
import { Big } from 'big.js'
import type { App } from '../../../app.ts'
import { hours, monthOf } from '../../../clock.ts'
import { getOrg } from '../../orgs/index.ts'
import { readMeter, usageOfMonth } from '../metering/meter-store.ts'
import { usageSoFar } from '../metering/meter.ts'
import { invoiceNumber } from '../payments/collect.ts'
import { accountOf } from '../payments/payment-store.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { monthEndMs } from '../time.ts'
import { addInvoice, listClosable, monthsOf, selectInvoice } from './invoice-store.ts'
import { receiptOf } from './receipt.ts'

/** The delay between the end of a month and its closing, because RPC request counts reach the database late. */
const closedAfterMs = hours(1)

/** Returns the receipt of a month, by squid. The receipt of a closed month is read from its invoice; others are computed. */
export async function receiptFor(app: App, book: PriceBook, orgId: number, month: string): Promise<Receipt> {
  const invoice = await selectInvoice(app.db, orgId, month)
  if (!invoice)
    return receiptOf({ ...(await termsOf(app, orgId)), book, month, usage: await usageSoFar(app, orgId, month) })
  const { receipt, number, closedAt, paidAt } = invoice
  return {
    ...receipt,
    isClosed: true,
    invoice: {
      number: invoiceNumber(number),
      status: paidAt ? 'paid' : 'open',
      closedAt: closedAt.toISOString(),
    },
  }
}

/** Returns the receipts of the current month and of all months with usage, by squid; newest first. */
export async function allReceipts(app: App, book: PriceBook, orgId: number): Promise<Receipt[]> {
  const months = new Set(await monthsOf(app.db, orgId)).add(monthOf(app.clock.now().getTime()))
  const receipts: Receipt[] = []
  for (const month of [...months].sort().toReversed()) receipts.push(await receiptFor(app, book, orgId, month))
  return receipts
}

/** Returns the organization's discount and country, which a receipt needs in addition to usage and prices. */
export async function termsOf(app: Pick<App, 'db'>, orgId: number) {
  const [account, org] = await Promise.all([accountOf(app.db, orgId), getOrg(app.db, orgId)])
  return { discountPercent: new Big(account.discountPercent), country: org.billingDetails?.country ?? null }
}

/** Writes the invoices of past months whose usage is fully recorded. */
export async function closeMonths(app: App, book: PriceBook): Promise<void> {
  const now = app.clock.now()
  const meter = await readMeter(app.db)
  for (const { orgId, month } of await listClosable(app.db, monthOf(now.getTime()))) {
    const endMs = monthEndMs(month)
    if (now.getTime() < endMs + closedAfterMs || (meter?.recordedUntilMs ?? 0) < endMs) continue
    await closeMonth(app, book, orgId, month)
  }
}

/** Writes the invoice of a month whose usage is fully recorded. */
export async function closeMonth(app: App, book: PriceBook, orgId: number, month: string): Promise<void> {
  const now = app.clock.now()
  const org = await getOrg(app.db, orgId)
  const usage = await usageOfMonth(app.db, orgId, month)
  const receipt = receiptOf({ ...(await termsOf(app, orgId)), book, month, usage })
  const customer = { code: org.code, name: org.name ?? org.code, details: org.billingDetails }
  await app.db.transaction((tx) =>
    addInvoice(
      tx,
      { orgId, month, closedAt: now, customer, seller: book.seller, totalUsd: receipt.total },
      (number) => ({
        ...receipt,
        isClosed: true,
        invoice: { number: invoiceNumber(number), status: 'open', closedAt: now.toISOString() },
      }),
    ),
  )
}
