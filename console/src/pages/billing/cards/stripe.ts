type ConfirmResult = { error?: { message?: string } }
type PaymentElement = {
  mount: (container: HTMLElement) => void
  unmount: () => void
  on(event: 'change', listener: (event: { complete: boolean }) => void): void
  on(event: 'loaderror', listener: () => void): void
}
export type Elements = { create: (kind: 'payment') => PaymentElement }
/** The part of Stripe.js that the card form uses (docs.stripe.com/js). */
export type Stripe = {
  elements: (options: { clientSecret: string; appearance: { theme: 'stripe' | 'night' } }) => Elements
  confirmSetup: (options: {
    elements: Elements
    redirect: 'if_required'
    confirmParams: { return_url: string }
  }) => Promise<ConfirmResult>
}

declare global {
  interface Window {
    Stripe?: (publishableKey: string) => Stripe
  }
}

let stripePromise: Promise<(publishableKey: string) => Stripe> | null = null

/**
 * Loads Stripe.js, which Stripe requires to be loaded from its own URL, and returns the function that creates a client.
 * @throws if the script cannot be loaded; the next call loads it again
 */
export function loadStripe(): Promise<(publishableKey: string) => Stripe> {
  stripePromise ??= new Promise((resolve, reject) => {
    const fail = () => {
      stripePromise = null
      reject(new Error('The card form could not be loaded'))
    }
    const script = document.createElement('script')
    script.src = 'https://js.stripe.com/v3/'
    script.async = true
    script.addEventListener('load', () => (window.Stripe ? resolve(window.Stripe) : fail()))
    script.addEventListener('error', fail)
    document.head.append(script)
  })
  return stripePromise
}
