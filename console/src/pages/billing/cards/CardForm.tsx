import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useApiMutation } from '../../../api/mutation.ts'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { toast } from '../../../lib/toasts.ts'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { seedMethods, settingsQuery } from '../queries.ts'
import { TestCardForm } from './TestCardForm.tsx'
import { lazyPart } from '../../../lib/lazy.tsx'

const StripeForm = lazyPart(() => import('./StripeForm.tsx'))

type Props = {
  code: string
  /** The id of the payment method to replace. */
  replaces?: string
  onSaved: () => void
}

/** The card form of Stripe, or the test form. When the user has entered a card, the server saves the payment method and charges unpaid bills. */
export function CardForm({ code, replaces, onSaved }: Props) {
  const settings = useQuery(settingsQuery(code))
  const add = useApiMutation('billing.addPaymentMethod', {
    invalidates: ['billing.getSettings', 'billing.getSummary', 'user.get'],
    seeds: (client, methods) => seedMethods(client, code, methods),
    onSuccess: () => {
      toast({ tone: 'good', title: 'Billing information has been updated.' })
      onSaved()
    },
  })
  return (
    <QueryView query={settings} what="The card form">
      {({ publishableKey, create: { clientSecret } }) => {
        const form = {
          clientSecret,
          isSaving: add.isPending,
          onSetUp: () => add.mutate({ params: { code }, body: { clientSecret, ...(replaces && { replaces }) } }),
        }
        if (publishableKey === null) return <TestCardForm code={code} {...form} />
        return (
          <Suspense fallback={<SkeletonRows count={4} />}>
            <StripeForm publishableKey={publishableKey} {...form} />
          </Suspense>
        )
      }}
    </QueryView>
  )
}

type CardDialogProps = { title: string; text?: string; code: string; replaces?: string; onClose: () => void }

/** The card form in a dialog. */
export function CardDialog({ title, text, code, replaces, onClose }: CardDialogProps) {
  return (
    <LazyDialog title={title} isOpen onClose={onClose}>
      {text && <p className="mb-3 text-ink-2">{text}</p>}
      <CardForm code={code} onSaved={onClose} {...(replaces !== undefined && { replaces })} />
    </LazyDialog>
  )
}
