import { useState } from 'react'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { toast, unexpectedErrorTitle } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/Button.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { parseCard, type Card, type CardFields } from './card.ts'

type Props = { code: string; clientSecret: string; isSaving: boolean; onSetUp: () => void }

const emptyFields: CardFields = { number: '', expiry: '', cvc: '' }

/** The card form of an installation without Stripe. It has the same fields; Stripe's test numbers determine the outcome. */
export function TestCardForm({ code, clientSecret, isSaving, onSetUp }: Props) {
  const [challengedCard, setChallengedCard] = useState<Card | null>(null)
  const enterCard = useApiMutation('billing.enterTestCard', {
    invalidates: [],
    onSuccess: ({ status, error }, { body: { number, expMonth, expYear, cvc } }) => {
      setChallengedCard(status === 'requires_action' ? { number, expMonth, expYear, cvc } : null)
      if (status === 'succeeded') onSetUp()
      if (status === 'requires_payment_method')
        toast({ tone: 'bad', title: unexpectedErrorTitle, message: error ?? 'Unknown error' })
    },
  })
  const submitCard = (card: Card, authentication?: 'complete' | 'fail') =>
    enterCard.mutate({ params: { code }, body: { clientSecret, ...card, ...(authentication && { authentication }) } })
  return (
    <>
      <FormShell
        schema={({ z }) => z.object({ number: z.string(), expiry: z.string(), cvc: z.string() })}
        values={emptyFields}
        onSubmit={(fields) => {
          const card = parseCard(fields)
          if (card) submitCard(card)
        }}
        pending={enterCard.isPending || isSaving}
        submitError={null}
        submitLabel="Save card"
        disabledReasonOf={(fields) => (parseCard(fields) ? null : 'Complete the card details first.')}
        isGuarded={false}
      >
        {({ field }) => (
          <>
            <p className="text-ink-2">
              Test mode: no money is charged. Use <code>4242 4242 4242 4242</code> with any future date and any code.
            </p>
            <div className="grid max-w-140 gap-3 xs:grid-cols-[minmax(0,1fr)_110px_90px]">
              <TextField
                label="Card number"
                inputMode="numeric"
                autoComplete="cc-number"
                placeholder="1234 1234 1234 1234"
                {...field('number')}
              />
              <TextField label="Expiry" autoComplete="cc-exp" placeholder="MM / YY" {...field('expiry')} />
              <TextField label="CVC" inputMode="numeric" autoComplete="cc-csc" placeholder="123" {...field('cvc')} />
            </div>
          </>
        )}
      </FormShell>
      {challengedCard && (
        <LazyDialog title="Your bank asks for confirmation" isOpen onClose={() => setChallengedCard(null)}>
          <p className="mb-4">A real bank would show its own page here. Choose its response.</p>
          <div className="flex justify-end gap-2">
            <Button onClick={() => submitCard(challengedCard, 'fail')}>Fail authentication</Button>
            <Button
              variant="primary"
              isPending={enterCard.isPending}
              onClick={() => submitCard(challengedCard, 'complete')}
            >
              Complete authentication
            </Button>
          </div>
        </LazyDialog>
      )}
    </>
  )
}
