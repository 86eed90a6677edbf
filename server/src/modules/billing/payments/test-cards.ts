import type { TestProviderCard } from '../tables.ts'

/** Behaviour of a card: `setup` when it is saved, `charge` when it is charged off-session; null for success. */
export type CardBehaviour = { setup: CardError | 'authentication' | null; charge: CardError | null }
/** An error as Stripe returns it: its decline code, and the message for the customer. */
export type CardError = { code: string; message: string }

const cardError = (code: string, message: string): CardError => ({ code, message })

const declined = cardError('card_declined', 'Your card was declined.')
const insufficientFunds = cardError('insufficient_funds', 'Your card has insufficient funds.')
const authenticationRequired = cardError(
  'authentication_required',
  'Your card was declined. This transaction requires authentication.',
)
/** The error of a card whose owner did not authenticate it. */
export const notAuthenticated = cardError(
  'setup_intent_authentication_failure',
  'We are unable to authenticate your payment method. Please choose a different payment method and try again.',
)

/** Stripe's published test numbers (docs.stripe.com/testing). Cards with any other valid number succeed. */
const behaviours: Record<string, CardBehaviour> = {
  '4000000000000002': { setup: declined, charge: declined },
  '4000000000009995': { setup: insufficientFunds, charge: insufficientFunds },
  '4000000000000069': alwaysFailing(cardError('expired_card', 'Your card has expired.')),
  '4000000000000127': alwaysFailing(cardError('incorrect_cvc', "Your card's security code is incorrect.")),
  '4000000000000119': alwaysFailing(
    cardError('processing_error', 'An error occurred while processing your card. Try again in a little bit.'),
  ),
  // Saved successfully, declined when charged.
  '4000000000000341': { setup: null, charge: declined },
  // Requires authentication once, when it is saved.
  '4000002500003155': { setup: 'authentication', charge: null },
  // Requires authentication every time.
  '4000002760003184': { setup: 'authentication', charge: authenticationRequired },
  '4000008260003178': { setup: 'authentication', charge: insufficientFunds },
}

function alwaysFailing(error: CardError): CardBehaviour {
  return { setup: error, charge: error }
}

/** Returns how a card behaves: as documented for its test number, and always failing if it is invalid or has expired. */
export function cardBehaviourOf(card: TestProviderCard, now: Date): CardBehaviour {
  if (!isLuhnValid(card.number)) return alwaysFailing(cardError('incorrect_number', 'Your card number is invalid.'))
  if (Date.UTC(card.expYear, card.expMonth) <= now.getTime())
    return alwaysFailing(cardError('expired_card', 'Your card has expired.'))
  return behaviours[card.number] ?? { setup: null, charge: null }
}

/** Whether the check digit of a card number is correct (ISO/IEC 7812). */
function isLuhnValid(number: string): boolean {
  const sum = number
    .split('')
    .toReversed()
    .reduce((total, digit, i) => {
      const value = Number(digit) * (i % 2 === 1 ? 2 : 1)
      return total + (value > 9 ? value - 9 : value)
    }, 0)
  return sum % 10 === 0
}
