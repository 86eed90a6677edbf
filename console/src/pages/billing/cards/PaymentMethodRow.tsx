import type { PaymentMethod } from '@shoal/contract'
import { CreditCard } from 'lucide-react'
import { useState } from 'react'
import { useApiMutation } from '../../../api/mutation.ts'
import { confirm } from '../../../components/confirm.ts'
import { Badge } from '../../../ui/Badge.tsx'
import { Button } from '../../../ui/Button.tsx'
import { CardDialog } from './CardForm.tsx'
import { seedMethods } from '../queries.ts'
import { expiryOf, expiryStateOf } from './card.ts'

type Props = { code: string; method: PaymentMethod; isDefault: boolean; isOnly: boolean }

/** One payment method in the list, with its actions. */
export function PaymentMethodRow({ code, method, isDefault, isOnly }: Props) {
  const [isReplacing, setIsReplacing] = useState(false)
  const { makeDefault, confirmRemove } = usePaymentMethodActions(code, method)
  const name = nameOf(method)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 px-3.5 py-2.5">
      <CreditCard size={16} aria-hidden className="shrink-0 text-ink-3" />
      <p className="flex min-w-0 flex-1 basis-56 flex-wrap items-center gap-x-3 gap-y-1">
        <span className="tabular font-medium wrap-anywhere">{name}</span>
        {method.card && <Expiry card={method.card} />}
        {isDefault && <Badge tone="accent">Default</Badge>}
      </p>
      <div className="flex flex-wrap gap-1">
        {!isDefault && (
          <Button
            size={28}
            variant="ghost"
            aria-label={`Make ${name} the default`}
            isPending={makeDefault.isPending}
            onClick={() => makeDefault.mutate({ params: { code, id: method.id } })}
          >
            Make default
          </Button>
        )}
        <Button size={28} variant="ghost" aria-label={`Replace ${name}`} onClick={() => setIsReplacing(true)}>
          Replace
        </Button>
        <Button
          size={28}
          variant="ghost"
          aria-label={`Remove ${name}`}
          disabledReason={isOnly ? 'Add another payment method before you remove this one.' : null}
          onClick={confirmRemove}
        >
          Remove
        </Button>
      </div>
      {isReplacing && (
        <CardDialog
          title={`Replace ${name}`}
          text="The new card becomes the default, and this one is removed."
          code={code}
          replaces={method.id}
          onClose={() => setIsReplacing(false)}
        />
      )}
    </li>
  )
}

function usePaymentMethodActions(code: string, method: PaymentMethod) {
  const makeDefault = useApiMutation('billing.makeDefaultPaymentMethod', {
    invalidates: ['billing.getSettings', 'billing.getSummary', 'user.get'],
    seeds: (client, methods) => seedMethods(client, code, methods),
  })
  const remove = useApiMutation('billing.removePaymentMethod', {
    invalidates: ['billing.getSettings'],
    seeds: (client, methods) => seedMethods(client, code, methods),
    errorDisplay: 'caller',
  })
  const confirmRemove = () =>
    confirm({
      title: `Remove ${nameOf(method)}?`,
      body: 'Shoal no longer charges it. Receipts and invoices are kept.',
      confirmLabel: 'Remove',
      isDanger: true,
      action: () => remove.mutateAsync({ params: { code, id: method.id } }),
    })
  return { makeDefault, confirmRemove }
}

function Expiry({ card }: { card: NonNullable<PaymentMethod['card']> }) {
  const [nowMs] = useState(() => Date.now())
  const state = expiryStateOf(card, nowMs)
  if (state === 'expired') return <Badge tone="bad">Expired {expiryOf(card)}</Badge>
  if (state === 'soon') return <Badge tone="warn">Expires soon, {expiryOf(card)}</Badge>
  return <span className="tabular text-ink-3">expires {expiryOf(card)}</span>
}

const nameOf = ({ card, link }: PaymentMethod): string =>
  card ? `•••• ${card.last4}` : link ? `Link, ${link.email}` : 'Payment method'
