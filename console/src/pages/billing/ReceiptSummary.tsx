import type { Receipt } from '@shoal/contract'
import { formatAmount, formatCents } from '../../lib/format.ts'
import { Card, KeyValue } from '../../ui/Card.tsx'

const discountNames = { organization: 'Discount', rpc_included: 'RPC requests included' }

/** The amounts of a receipt to the cent, from the subtotal to the total. The items show the exact amounts. */
export function ReceiptSummary({ receipt: { subTotal, discounts, tax, total, isClosed } }: { receipt: Receipt }) {
  const discountRows = discounts.map(({ type, percent, amount }) => ({
    label: type === 'organization' ? `${discountNames[type]} ${percentText(percent)}` : discountNames[type],
    value: formatCents(-Math.abs(Number(amount))),
  }))
  return (
    <Card title="Receipt" className="ml-auto w-full max-w-100">
      <KeyValue
        isNarrow
        rows={[
          { label: 'Subtotal', value: formatCents(subTotal) },
          ...discountRows,
          { label: `VAT ${percentText(tax.percent)}`, value: formatCents(tax.amount) },
          { label: isClosed ? 'Total' : 'Total so far', value: formatCents(total), isTotal: true },
        ]}
      />
    </Card>
  )
}

const percentText = (percent: string) => `${formatAmount(Number(percent))}%`
