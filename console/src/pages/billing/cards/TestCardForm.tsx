import { useState, type ChangeEvent, type FocusEvent } from 'react'
import { useApiMutation } from '../../../api/mutation.ts'
import { FormShell } from '../../../components/FormShell.tsx'
import { LazyDialog } from '../../../components/LazyDialog.tsx'
import { toast, unexpectedErrorTitle } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/Button.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { cardErrors, formatCvc, formatExpiry, formatNumber, parseCard, type Card, type CardFields } from './card.ts'

type Props = { code: string; clientSecret: string; isSaving: boolean; onSetUp: () => void }

const emptyFields: CardFields = { number: '', expiry: '', cvc: '' }

/** The card form of an installation without Stripe. It has the same fields as Stripe's form, and Stripe's test numbers determine the outcome. */
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
        schema={({ z }) =>
          z.object({ number: z.string(), expiry: z.string(), cvc: z.string() }).superRefine((fields, issues) => {
            for (const [name, message] of Object.entries(cardErrors(fields, Date.now())))
              if (message) issues.addIssue({ code: 'custom', path: [name], message })
          })
        }
        values={emptyFields}
        onSubmit={(fields) => {
          const card = parseCard(fields, Date.now())
          if (card) submitCard(card)
        }}
        isPending={enterCard.isPending || isSaving}
        submitError={null}
        submitLabel="Save card"
        disabledReasonOf={(fields) => (parseCard(fields, Date.now()) ? null : 'Complete the card details first.')}
        warnsAboutUnsavedChanges={false}
      >
        {({ field, form }) => {
          const formattedField = (name: keyof CardFields, format: (text: string) => string) => {
            const props = field(name)
            return {
              ...props,
              onChange: (event: ChangeEvent<HTMLInputElement>) => {
                reformat(event.target, format)
                return props.onChange(event)
              },
              onBlur: (event: FocusEvent<HTMLInputElement>) => {
                if (event.target.value !== '') void form.trigger(name)
                return props.onBlur(event)
              },
            }
          }
          return (
            <>
              <p className="text-ink-2">
                Test mode: no money is charged. Use <code>4242 4242 4242 4242</code> with any future date and any code.
              </p>
              <div className="grid max-w-140 grid-cols-2 gap-3 xs:grid-cols-[minmax(0,1fr)_120px_100px]">
                <TextField
                  label="Card number"
                  inputMode="numeric"
                  autoComplete="cc-number"
                  placeholder="1234 1234 1234 1234"
                  className="max-xs:col-span-2"
                  {...formattedField('number', formatNumber)}
                />
                <TextField
                  label="Expiry"
                  inputMode="numeric"
                  autoComplete="cc-exp"
                  placeholder="MM / YY"
                  {...formattedField('expiry', formatExpiry)}
                />
                <TextField
                  label="CVC"
                  inputMode="numeric"
                  autoComplete="cc-csc"
                  placeholder="123"
                  {...formattedField('cvc', formatCvc)}
                />
              </div>
            </>
          )
        }}
      </FormShell>
      {challengedCard && (
        <LazyDialog
          title="Your bank asks for confirmation"
          isOpen
          onClose={() => setChallengedCard(null)}
          footer={
            <>
              <Button onClick={() => submitCard(challengedCard, 'fail')}>Fail authentication</Button>
              <Button
                variant="primary"
                isPending={enterCard.isPending}
                onClick={() => submitCard(challengedCard, 'complete')}
              >
                Complete authentication
              </Button>
            </>
          }
        >
          <p>A real bank would show its own page here. Choose its response.</p>
        </LazyDialog>
      )}
    </>
  )
}

/** Formats the value of the field while the user types. The caret stays after the same digit. */
function reformat(input: HTMLInputElement, format: (text: string) => string): void {
  const isAtEnd = input.selectionStart === input.value.length
  const text = format(input.value)
  if (text === input.value) return
  const caret = isAtEnd ? text.length : format(input.value.slice(0, input.selectionStart ?? 0)).length
  input.value = text
  input.setSelectionRange(caret, caret)
}
