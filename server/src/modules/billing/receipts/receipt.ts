import type { Receipt, ReceiptItem } from '@shoal/contract'
import { Big } from 'big.js'
import { taxPercent, type PriceBook } from '../prices/price-book.ts'
import { monthEndMs } from '../time.ts'
import { organizationShare, rateMonth, sum, type DayUsage, type Line } from './rate.ts'

export type ReceiptInput = {
  book: PriceBook
  /** `yyyy-MM` */
  month: string
  usage: readonly DayUsage[]
  discountPercent: Big
  /** Null: unknown. */
  country: string | null
}

/**
 * The receipt of a month (spec 3), by squid; `mergeSquids` makes the other view. The items add up to subTotal exactly; the net
 * amount, the tax and thus the total are rounded to cents.
 */
export function receiptOf({ book, month, usage, discountPercent, country }: ReceiptInput): Receipt {
  const lines = rateMonth(book, month, usage)
  const shares = lines.map((line) => organizationShare(line, discountPercent))
  const items = lines.map((line, i) => itemOf(line, shares[i] ?? new Big(0)))
  const subTotal = sum(lines.map((line) => line.subtotal))
  const included = sum(lines.map((line) => line.included))
  const organization = sum(shares)
  const net = subTotal.minus(included).minus(organization).round(2)
  // The rate at the end of the month, which is the date of supply.
  const percent = taxPercent(book, country, monthEndMs(month) - 1)
  const tax = net.times(percent).div(100).round(2)
  const discounts: Receipt['discounts'] = []
  if (organization.gt(0))
    discounts.push({ type: 'organization', percent: discountPercent.toFixed(), amount: organization.toFixed() })
  if (included.gt(0)) discounts.push({ type: 'rpc_included', percent: '100', amount: included.toFixed() })
  return {
    month,
    items: items.sort(descending),
    subTotal: subTotal.toFixed(),
    discounts,
    tax: { percent: percent.toFixed(), amount: tax.toFixed(2) },
    total: net.plus(tax).toFixed(2),
    isClosed: false,
    invoice: null,
  }
}

/** After discounts, before tax, not rounded. */
export const netOf = (receipt: Pick<Receipt, 'subTotal' | 'discounts'>): Big =>
  new Big(receipt.subTotal).minus(sum(receipt.discounts.map((d) => new Big(d.amount))))

/** The same receipt with one item per type and price. */
export function mergeSquids(receipt: Receipt): Receipt {
  const merged = new Map<string, ReceiptItem>()
  for (const item of receipt.items) {
    const key = `${item.type} ${item.rate}`
    const known = merged.get(key)
    const plus = (field: 'amount' | 'subtotal' | 'discount') => new Big(known?.[field] ?? 0).plus(item[field]).toFixed()
    merged.set(key, {
      ...item,
      amount: plus('amount'),
      subtotal: plus('subtotal'),
      discount: plus('discount'),
      squid: null,
    })
  }
  return { ...receipt, items: [...merged.values()].sort(descending) }
}

const itemOf = (line: Line, share: Big): ReceiptItem => ({
  type: line.type,
  amount: line.amount.toFixed(),
  rate: line.rate.toFixed(),
  subtotal: line.subtotal.toFixed(),
  discount: line.included.plus(share).toFixed(),
  squid: line.squid,
})

/** By subtotal, then by name, so that the order is stable. */
const descending = (a: ReceiptItem, b: ReceiptItem): number =>
  new Big(b.subtotal).cmp(a.subtotal) || textOf(a).localeCompare(textOf(b))
const textOf = (item: ReceiptItem) => `${item.type} ${item.squid?.name ?? ''} ${item.rate}`
