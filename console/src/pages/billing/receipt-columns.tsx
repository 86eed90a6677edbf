import { billableLabel, billableOf, type ReceiptItem } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { emptyValue, formatAmount, formatDecimal, formatUsd } from '../../lib/format.ts'

const squidColumn: Column<ReceiptItem> = {
  id: 'squid',
  header: 'Squid name',
  cell: (item) => (
    <span className="block truncate" title={item.squid?.name}>
      {item.squid?.name ?? emptyValue}
    </span>
  ),
}

const typeColumn: Column<ReceiptItem> = {
  id: 'type',
  header: 'Type',
  cell: ({ type }) => (
    <span className="block truncate" title={billableLabel(type)}>
      {billableLabel(type)}
    </span>
  ),
}

/** The type in the view that merges squids: long types wrap. In the view by squid they do not, because all rows need the same height. */
const wrappedTypeColumn: Column<ReceiptItem> = {
  ...typeColumn,
  cell: ({ type }) => <span className="block py-2 whitespace-normal">{billableLabel(type)}</span>,
}

/** The unit of the amounts of a resource; hours by default. The rate is the price of one unit. */
const units: Record<string, string> = { storage: 'GB h', rpc: 'M' }
const unitOf = (type: string): string => units[billableOf(type).resource] ?? 'h'

const amountColumns: Column<ReceiptItem>[] = [
  {
    id: 'amount',
    header: 'Amount',
    isNumber: true,
    width: '150px',
    hideBelow: 'sm',
    cell: ({ type, amount }) => (
      <span data-tip={formatAmount(Number(amount))}>
        {formatDecimal(Number(amount))} <span className="text-ink-3">{unitOf(type)}</span>
      </span>
    ),
  },
  {
    id: 'rate',
    header: 'Rate',
    isNumber: true,
    width: '130px',
    hideBelow: 'md',
    cell: ({ rate }) => formatUsd(Number(rate)),
  },
  {
    id: 'subtotal',
    header: 'Cost',
    isNumber: true,
    width: '140px',
    cell: ({ subtotal }) => formatUsd(Number(subtotal)),
  },
]

/** Columns of the items of a receipt. */
export const receiptColumns = {
  merged: [wrappedTypeColumn, ...amountColumns],
  bySquid: [squidColumn, typeColumn, ...amountColumns],
}
