import { Big } from 'big.js'
import { listAt, priceOf, type Price, type PriceBook } from '../prices/price-book.ts'
import { monthStartMs } from '../time.ts'

/** Usage of one type by one version on one day; prices change at midnight only. */
export type DayUsage = {
  /** `yyyy-MM-dd` */
  day: string
  type: string
  squidId: number | null
  squidName: string | null
  /** ms, byte-ms or requests. */
  quantity: bigint
}

/** The smallest item of a receipt: one version, type and price. All sums are sums of these, so all views agree. */
export type Line = {
  type: string
  squid: { id: number; name: string } | null
  amount: Big
  rate: Big
  subtotal: Big
  /** Value of included requests. */
  included: Big
}

const digits = 8
/** Digits of a rate, such that amount × rate equals the subtotal to all its digits: monthly prices have no finite hourly decimal. */
export const rateDigits = 16
const hundred = new Big(100)

/**
 * Rates a month: each day at its own prices, the first requests of the month included. Amounts and dollars have at most 8 fraction
 * digits, rates at most 16, rounded half up, once.
 */
export function rateMonth(book: PriceBook, month: string, usage: readonly DayUsage[]): Line[] {
  const groups = new Map<string, Group>()
  const rpcIncluded = listAt(book, monthStartMs(month)).rpcIncludedMillions.times(1_000_000)
  let rpcLeft = BigInt(rpcIncluded.toFixed(0))
  for (const row of [...usage].sort(inOrder)) {
    const price = priceOf(listAt(book, Date.parse(row.day)), row.type)
    const key = `${row.type} ${row.squidId} ${price.dollars.toFixed()}`
    const group = groups.get(key) ?? { ...row, price, quantity: 0n, free: 0n }
    const free = row.type !== 'rpc' ? 0n : row.quantity < rpcLeft ? row.quantity : rpcLeft
    rpcLeft -= free
    groups.set(key, {
      ...group,
      squidName: row.squidName ?? group.squidName,
      quantity: group.quantity + row.quantity,
      free: group.free + free,
    })
  }
  return [...groups.values()].map(lineOf)
}

type Group = DayUsage & { price: Price; free: bigint }

const inOrder = (a: DayUsage, b: DayUsage) =>
  a.day < b.day ? -1 : a.day > b.day ? 1 : (a.squidId ?? 0) - (b.squidId ?? 0)

function lineOf({ type, squidId, squidName, quantity, free, price }: Group): Line {
  return {
    type,
    squid: squidId === null ? null : { id: squidId, name: squidName ?? String(squidId) },
    amount: new Big(quantity.toString()).div(price.unitQuantity).round(digits),
    rate: price.dollars.div(price.perUnits).round(rateDigits),
    subtotal: costOf(quantity, price).round(digits),
    included: costOf(free, price).round(digits),
  }
}

/** Exact up to the 20th digit. */
export const costOf = (quantity: bigint, price: Price): Big =>
  new Big(quantity.toString()).times(price.dollars).div(price.unitQuantity.times(price.perUnits))

/** The organization's discount on a line. */
export const organizationShare = (line: Pick<Line, 'subtotal' | 'included'>, percent: Big): Big =>
  line.subtotal.minus(line.included).times(percent).div(hundred).round(digits)

export const sum = (amounts: readonly Big[]): Big => amounts.reduce((total, amount) => total.plus(amount), new Big(0))
