import type { Receipt, ReceiptItem } from '@shoal/contract'
import { Big } from 'big.js'
import { taxPercent, type PriceBook } from '../prices/price-book.ts'
import { monthEndMs } from '../time.ts'
import { organizationDiscount, computeLines, sum, type DayUsage, type Line } from './rate.ts'

/** What a receipt is computed from. */
export type ReceiptInput = {
  book: PriceBook
  /** `yyyy-MM` */
  month: string
  usage: readonly DayUsage[]
  discountPercent: Big
  /** Null if unknown. */
  country: string | null
}

/**
 * Computes the receipt of a month (spec 3), with items by squid; `mergeSquids` merges them. The items add up to `subTotal`
 * exactly. The net amount and the tax, and therefore the total, are rounded to cents.
 */
export function receiptOf({ book, month, usage, discountPercent, country }: ReceiptInput): Receipt {
  const lines = computeLines(book, month, usage)
  const organizationDiscounts = lines.map((line) => organizationDiscount(line, discountPercent))
  const items = lines.map((line, i) => itemOf(line, organizationDiscounts[i] ?? new Big(0)))
  const subTotal = sum(lines.map((line) => line.subtotal))
  const includedTotal = sum(lines.map((line) => line.included))
  const organizationTotal = sum(organizationDiscounts)
  const net = subTotal.minus(includedTotal).minus(organizationTotal).round(2)
  // The tax rate at the end of the month applies, because that is the date of supply.
  const percent = taxPercent(book, country, monthEndMs(month) - 1)
  const tax = net.times(percent).div(100).round(2)
  const discounts: Receipt['discounts'] = []
  if (organizationTotal.gt(0))
    discounts.push({ type: 'organization', percent: discountPercent.toFixed(), amount: organizationTotal.toFixed() })
  if (includedTotal.gt(0)) discounts.push({ type: 'rpc_included', percent: '100', amount: includedTotal.toFixed() })
  return {
    month,
    items: items.sort(bySubtotal),
    subTotal: subTotal.toFixed(),
    discounts,
    tax: { percent: percent.toFixed(), amount: tax.toFixed(2) },
    total: net.plus(tax).toFixed(2),
    isClosed: false,
    invoice: null,
  }
}

/** Returns the amount in dollars after discounts and before tax, not rounded. */
export const netOf = (receipt: Pick<Receipt, 'subTotal' | 'discounts'>): Big =>
  new Big(receipt.subTotal).minus(sum(receipt.discounts.map((d) => new Big(d.amount))))

/** Returns the receipt with one item per type and price. */
export function mergeSquids(receipt: Receipt): Receipt {
  const merged = new Map<string, ReceiptItem>()
  for (const item of receipt.items) {
    const key = `${item.type} ${item.rate}`
    const previous = merged.get(key)
    const add = (field: 'amount' | 'subtotal' | 'discount') =>
      new Big(previous?.[field] ?? 0).plus(item[field]).toFixed()
    merged.set(key, {
      ...item,
      amount: add('amount'),
      subtotal: add('subtotal'),
      discount: add('discount'),
      squid: null,
    })
  }
  return { ...receipt, items: [...merged.values()].sort(bySubtotal) }
}

const itemOf = (line: Line, discount: Big): ReceiptItem => ({
  type: line.type,
  amount: line.amount.toFixed(),
  rate: line.rate.toFixed(),
  subtotal: line.subtotal.toFixed(),
  discount: line.included.plus(discount).toFixed(),
  squid: line.squid,
})

/** Sorts by descending subtotal, then by type, name and rate, so that the order is stable. */
const bySubtotal = (a: ReceiptItem, b: ReceiptItem): number =>
  new Big(b.subtotal).cmp(a.subtotal) || sortKeyOf(a).localeCompare(sortKeyOf(b))
const sortKeyOf = (item: ReceiptItem) => `${item.type} ${item.squid?.name ?? ''} ${item.rate}`
