import { Big } from 'big.js'
import { listAt, priceOf, type Price, type PriceBook } from '../prices/price-book.ts'
import { monthStartMs } from '../time.ts'

/** Usage of one type by one version on one day. Prices change only at midnight UTC. */
export type DayUsage = {
  /** `yyyy-MM-dd` */
  day: string
  type: string
  squidId: number | null
  squidName: string | null
  /** Milliseconds for programs, bytes multiplied by milliseconds for storage, or a number of requests. */
  quantity: bigint
}

/**
 * The smallest item of a receipt: one version, type and price. All totals are sums of lines, so receipts by squid and merged ones
 * agree.
 */
export type Line = {
  type: string
  squid: { id: number; name: string } | null
  amount: Big
  rate: Big
  subtotal: Big
  /** Value of the included requests, in dollars. */
  included: Big
}

/** Maximum number of fraction digits of amounts and dollars. */
const amountDigits = 8
/**
 * Enough fraction digits for amount × rate to equal the subtotal in all its digits. An hourly share of a monthly price has no
 * finite decimal.
 */
export const rateDigits = 16
const hundred = new Big(100)

/**
 * Computes the lines of a month. Each day is billed at its own prices, and the first RPC requests of the month are included. Amounts and
 * dollars have at most 8 fraction digits, rates at most 16; each is rounded once, half up.
 */
export function computeLines(book: PriceBook, month: string, usage: readonly DayUsage[]): Line[] {
  const groups = new Map<string, Group>()
  const rpcIncluded = listAt(book, monthStartMs(month)).rpcIncludedMillions.times(1_000_000)
  let remainingIncluded = BigInt(rpcIncluded.toFixed(0))
  for (const row of [...usage].sort(byDayAndSquid)) {
    const price = priceOf(listAt(book, Date.parse(row.day)), row.type)
    const key = `${row.type} ${row.squidId} ${price.dollars.toFixed()}`
    const group = groups.get(key) ?? { ...row, price, quantity: 0n, included: 0n }
    const includedRequests =
      row.type !== 'rpc' ? 0n : row.quantity < remainingIncluded ? row.quantity : remainingIncluded
    remainingIncluded -= includedRequests
    groups.set(key, {
      ...group,
      squidName: row.squidName ?? group.squidName,
      quantity: group.quantity + row.quantity,
      included: group.included + includedRequests,
    })
  }
  return [...groups.values()].map(lineOf)
}

type Group = DayUsage & { price: Price; included: bigint }

const byDayAndSquid = (a: DayUsage, b: DayUsage) =>
  a.day < b.day ? -1 : a.day > b.day ? 1 : (a.squidId ?? 0) - (b.squidId ?? 0)

function lineOf({ type, squidId, squidName, quantity, included, price }: Group): Line {
  return {
    type,
    squid: squidId === null ? null : { id: squidId, name: squidName ?? String(squidId) },
    amount: new Big(quantity.toString()).div(price.unitQuantity).round(amountDigits),
    rate: price.dollars.div(price.perUnits).round(rateDigits),
    subtotal: costOf(quantity, price).round(amountDigits),
    included: costOf(included, price).round(amountDigits),
  }
}

/** Returns the cost in dollars, with 20 fraction digits. */
export const costOf = (quantity: bigint, price: Price): Big =>
  new Big(quantity.toString()).times(price.dollars).div(price.unitQuantity.times(price.perUnits))

/** Returns the organization's discount on a line, in dollars. */
export const organizationDiscount = (line: Pick<Line, 'subtotal' | 'included'>, percent: Big): Big =>
  line.subtotal.minus(line.included).times(percent).div(hundred).round(amountDigits)

/** Returns the sum of the amounts; 0 for none. */
export const sum = (amounts: readonly Big[]): Big => amounts.reduce((total, amount) => total.plus(amount), new Big(0))
