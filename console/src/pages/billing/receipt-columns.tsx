import { billableLabel, type ReceiptItem } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { formatAmount, formatUsd, emptyValue } from '../../lib/format.ts'

const squid: Column<ReceiptItem> = {
  id: 'squid',
  header: 'Squid name',
  cell: (item) => (
    <span className="block truncate" title={item.squid?.name}>
      {item.squid?.name ?? emptyValue}
    </span>
  ),
}

const typeName: Column<ReceiptItem> = {
  id: 'type',
  header: 'Type',
  cell: ({ type }) => (
    <span className="block truncate" title={billableLabel(type)}>
      {billableLabel(type)}
    </span>
  ),
}

/** Wraps long types in the merged view; in the view by squid, all rows need the same height. */
const wrappedTypeName: Column<ReceiptItem> = {
  ...typeName,
  cell: ({ type }) => <span className="block py-1">{billableLabel(type)}</span>,
}

const numbers: Column<ReceiptItem>[] = [
  {
    id: 'amount',
    header: 'Amount',
    isNumber: true,
    width: '150px',
    hideBelow: 'sm',
    cell: ({ amount }) => formatAmount(Number(amount)),
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
export const receiptColumns = { merged: [wrappedTypeName, ...numbers], bySquid: [squid, typeName, ...numbers] }
