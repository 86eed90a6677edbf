import { useEffect, useRef, useState, type FormEvent } from 'react'
import { toast, unexpectedErrorTitle } from '../../../lib/toasts.ts'
import { Alert } from '../../../ui/Alert.tsx'
import { Button } from '../../../ui/Button.tsx'
import { loadStripe, type Elements, type Stripe } from './stripe.ts'

type Props = { publishableKey: string; clientSecret: string; isSaving: boolean; onSetUp: () => void }
type Form = { stripe: Stripe; elements: Elements }

/** Stripe's form, in Stripe's frame, so that card data never reaches this page or our server. */
export default function StripeForm({ publishableKey, clientSecret, isSaving, onSetUp }: Props) {
  const container = useRef<HTMLDivElement>(null)
  const [form, setForm] = useState<Form | null>(null)
  const [isComplete, setIsComplete] = useState(false)
  const [isConfirming, setIsConfirming] = useState(false)
  const [hasFailed, setHasFailed] = useState(false)

  useEffect(() => {
    let isUnmounted = false
    let unmount = () => {}
    const start = async () => {
      const createStripe = await loadStripe()
      if (isUnmounted || !container.current) return
      const stripe = createStripe(publishableKey)
      const theme = document.documentElement.dataset['theme'] === 'dark' ? 'night' : 'stripe'
      const elements = stripe.elements({ clientSecret, appearance: { theme } })
      const element = elements.create('payment')
      element.on('change', ({ complete }) => setIsComplete(complete))
      element.on('loaderror', () => setHasFailed(true))
      element.mount(container.current)
      unmount = () => element.unmount()
      setForm({ stripe, elements })
    }
    start().catch(() => setHasFailed(true))
    return () => {
      isUnmounted = true
      unmount()
    }
  }, [publishableKey, clientSecret])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!form || !isComplete || isConfirming || isSaving) return
    setIsConfirming(true)
    const confirmParams = { return_url: window.location.href }
    const { error } = await form.stripe.confirmSetup({
      elements: form.elements,
      redirect: 'if_required',
      confirmParams,
    })
    setIsConfirming(false)
    if (error) toast({ tone: 'bad', title: unexpectedErrorTitle, message: error.message ?? 'Unknown error' })
    else onSetUp()
  }
  if (hasFailed)
    return (
      <Alert tone="bad">
        Stripe's card form could not be loaded. Allow js.stripe.com in your browser and reload the page.
      </Alert>
    )
  return (
    <form onSubmit={(event) => void submit(event)} className="flex max-w-140 flex-col gap-4">
      <div ref={container} className="min-h-50" />
      <div className="flex in-[[role=dialog]]:flex-row-reverse">
        <Button
          type="submit"
          variant="primary"
          isPending={isConfirming || isSaving}
          disabledReason={isComplete ? null : 'Complete the card details first.'}
        >
          Save card
        </Button>
      </div>
    </form>
  )
}
