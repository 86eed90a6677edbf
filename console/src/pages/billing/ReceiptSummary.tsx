import type { Receipt } from '@shoal/contract'
import type { ReactNode } from 'react'
import { formatAmount, formatUsd } from '../../lib/format.ts'
import { Card } from '../../ui/Card.tsx'
import { cx } from '../../ui/classes.ts'

const discountNames = { organization: 'Discount', rpc_included: 'RPC requests included' }

/** The amounts of a receipt, from the subtotal to the total. */
export function ReceiptSummary({ receipt: { subTotal, discounts, tax, total, isClosed } }: { receipt: Receipt }) {
  return (
    <Card title="Receipt" className="ml-auto w-full max-w-100">
      <dl className="px-3.5 py-2.5">
        <Row label="Subtotal" value={formatUsd(Number(subTotal))} />
        {discounts.map(({ type, percent, amount }) => (
          <Row
            key={type}
            label={type === 'organization' ? `${discountNames[type]} ${percentText(percent)}` : discountNames[type]}
            value={formatUsd(-Math.abs(Number(amount)))}
          />
        ))}
        <Row label={`VAT ${percentText(tax.percent)}`} value={formatUsd(Number(tax.amount))} />
        <Row
          label={isClosed ? 'Total' : 'Total so far'}
          value={formatUsd(Number(total))}
          className="mt-1.5 border-t border-line pt-2.5 font-semibold"
        />
      </dl>
    </Card>
  )
}

const Row = ({ label, value, className }: { label: string; value: ReactNode; className?: string }) => (
  <div className={cx('flex justify-between gap-4 py-1', className)}>
    <dt>{label}</dt>
    <dd className="tabular">{value}</dd>
  </div>
)

const percentText = (percent: string) => `${formatAmount(Number(percent))}%`
