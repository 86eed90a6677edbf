import type { PaymentMethod } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import { useApiMutation } from '../../api/mutation.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { confirm } from '../../components/confirm.ts'
import { Button } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { CardDialog } from './CardDialog.tsx'
import { CardForm } from './CardForm.tsx'
import { settingsQuery } from './settings-query.ts'

/** Saved payment methods, the one that is charged first; without any, the form to add one. */
export function CardDetails({ code }: { code: string }) {
  const settings = useQuery(settingsQuery(code))
  const [isAdding, setIsAdding] = useState(false)
  const hasAny = (settings.data?.existing.length ?? 0) > 0
  return (
    <Card
      title="Card details"
      aside={
        hasAny && (
          <Button size={28} onClick={() => setIsAdding(true)}>
            Update card
          </Button>
        )
      }
    >
      <QueryView query={settings} what="The card details">
        {({ existing }) =>
          existing.length > 0 ? (
            <ul className="divide-y divide-line">
              {existing.map((method, index) => (
                <Method key={method.id} code={code} method={method} isFirst={index === 0} />
              ))}
            </ul>
          ) : (
            <div className="p-3.5">
              <CardForm code={code} onSaved={() => undefined} />
            </div>
          )
        }
      </QueryView>
      {isAdding && <CardDialog title="Update card" code={code} onClose={() => setIsAdding(false)} />}
    </Card>
  )
}

function Method({ code, method, isFirst }: { code: string; method: PaymentMethod; isFirst: boolean }) {
  const remove = useApiMutation('billing.removePaymentMethod', {
    invalidates: ['billing.getSettings'],
    errorsGoTo: 'caller',
  })
  const name = nameOf(method)
  const askToRemove = () =>
    confirm({
      title: `Remove ${name}?`,
      body: 'It is not charged any more. Receipts and invoices stay.',
      confirmLabel: 'Remove',
      isDanger: true,
      action: () => remove.mutateAsync({ params: { code, id: method.id } }),
    })
  return (
    <li className="flex flex-wrap items-center gap-3 px-3.5 py-2.5">
      <CreditCard size={16} aria-hidden className="shrink-0 text-ink-3" />
      <p className="min-w-0 flex-1">
        <span className="tabular font-medium wrap-anywhere">{name}</span>
        {method.card && <span className="tabular ml-3 text-ink-3">expires {expiryOf(method.card)}</span>}
        {isFirst && <span className="ml-3 text-ink-3">charged first</span>}
      </p>
      <Button size={28} variant="ghost" aria-label={`Remove ${name}`} onClick={askToRemove}>
        Remove
      </Button>
    </li>
  )
}

const nameOf = ({ card, link }: PaymentMethod): string =>
  card ? `•••• ${card.last4}` : link ? `Link, ${link.email}` : 'Payment method'

const expiryOf = ({ exp_month, exp_year }: NonNullable<PaymentMethod['card']>): string =>
  `${String(exp_month).padStart(2, '0')}/${String(exp_year % 100).padStart(2, '0')}`
