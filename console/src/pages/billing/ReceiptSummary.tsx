import type { Receipt } from '@shoal/contract'
import { formatAmount, formatUsd } from '../../lib/format.ts'
import { Card, KeyValue } from '../../ui/Card.tsx'

const discountNames = { organization: 'Discount', rpc_included: 'RPC requests included' }

/** The amounts of a receipt, from the subtotal to the total. */
export function ReceiptSummary({ receipt: { subTotal, discounts, tax, total, isClosed } }: { receipt: Receipt }) {
  const discountRows = discounts.map(({ type, percent, amount }) => ({
    label: type === 'organization' ? `${discountNames[type]} ${percentText(percent)}` : discountNames[type],
    value: formatUsd(-Math.abs(Number(amount))),
  }))
  return (
    <Card title="Receipt" className="ml-auto w-full max-w-100">
      <KeyValue
        isNarrow
        rows={[
          { label: 'Subtotal', value: formatUsd(Number(subTotal)) },
          ...discountRows,
          { label: `VAT ${percentText(tax.percent)}`, value: formatUsd(Number(tax.amount)) },
          { label: isClosed ? 'Total' : 'Total so far', value: formatUsd(Number(total)), isTotal: true },
        ]}
      />
    </Card>
  )
}

const percentText = (percent: string) => `${formatAmount(Number(percent))}%`
