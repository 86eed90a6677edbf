import { billableLabel } from './billable.ts'
import type { ReceiptItem } from './billing.ts'
import { csvOf } from './csv.ts'

type Item = Pick<ReceiptItem, 'type' | 'amount' | 'rate' | 'subtotal' | 'discount' | 'squid'>

/** Returns a month's usage as CSV with the columns of spec 9; Subtotal is Cost minus Discount. */
export function receiptCsv(items: readonly Item[], bySquid: boolean): string {
  const head = [...(bySquid ? ['Squid name'] : []), ...columns]
  return csvOf([head, ...items.map((item) => [...(bySquid ? [item.squid?.name ?? ''] : []), ...cellsOf(item)])])
}

/** Returns several months by squid in one file, with the month as the first column. */
export function receiptsCsv(receipts: readonly { month: string; items: readonly Item[] }[]): string {
  const rows = receipts.flatMap(({ month, items }) =>
    items.map((item) => [month, item.squid?.name ?? '', ...cellsOf(item)]),
  )
  return csvOf([['Month', 'Squid name', ...columns], ...rows])
}

const columns = ['Type', 'Amount', 'Rate', 'Cost', 'Discount', 'Subtotal']

const cellsOf = ({ type, amount, rate, subtotal, discount }: Item): string[] => [
  billableLabel(type),
  amount,
  rate,
  subtotal,
  discount,
  minus(subtotal, discount),
]

const scale = 8

/** Exact for up to 8 fraction digits, the maximum in receipts. */
function minus(a: string, b: string): string {
  const difference = units(a) - units(b)
  const digits = (difference < 0n ? -difference : difference).toString().padStart(scale + 1, '0')
  const text = `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '')
  return difference < 0n ? `-${text}` : text
}

function units(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.')
  const size = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  return text.startsWith('-') ? -size : size
}
