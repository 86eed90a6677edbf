import { billableLabel } from './billable.ts'
import type { ReceiptItem } from './receipts.ts'
import { csvOf } from './csv.ts'

type Item = Pick<ReceiptItem, 'type' | 'amount' | 'rate' | 'subtotal' | 'discount' | 'squid'>

/** Returns a month's usage as CSV with the columns of spec 9. */
export function monthCsv(items: readonly Item[], bySquid: boolean): string {
  const header = [...(bySquid ? ['Squid name'] : []), ...columns]
  return csvOf([header, ...items.map((item) => [...(bySquid ? [item.squid?.name ?? ''] : []), ...cellsOf(item)])])
}

/** Returns the usage of several months by squid as one CSV file, with the month as the first column. */
export function allMonthsCsv(receipts: readonly { month: string; items: readonly Item[] }[]): string {
  const rows = receipts.flatMap(({ month, items }) =>
    items.map((item) => [month, item.squid?.name ?? '', ...cellsOf(item)]),
  )
  return csvOf([['Month', 'Squid name', ...columns], ...rows])
}

/** Spec 9 uses Subtotal for the amount after discounts: Cost is `subtotal`, Subtotal is `subtotal` minus `discount`. */
const columns = ['Type', 'Amount', 'Rate', 'Cost', 'Discount', 'Subtotal']

const cellsOf = ({ type, amount, rate, subtotal, discount }: Item): string[] => [
  billableLabel(type),
  amount,
  rate,
  subtotal,
  discount,
  subtract(subtotal, discount),
]

const scale = 8

/** Subtracts decimal strings; exact for up to 8 fraction digits, the maximum in receipts. */
function subtract(a: string, b: string): string {
  const difference = scaledInteger(a) - scaledInteger(b)
  const digits = (difference < 0n ? -difference : difference).toString().padStart(scale + 1, '0')
  const text = `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '')
  return difference < 0n ? `-${text}` : text
}

function scaledInteger(text: string): bigint {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.')
  const magnitude = BigInt(whole + fraction.slice(0, scale).padEnd(scale, '0'))
  return text.startsWith('-') ? -magnitude : magnitude
}
