import type { Contract, PayloadOf, BodyOf, PaymentMethod } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import { dayOf } from '../../../clock.ts'
import type { App } from '../../../app.ts'
import { notFound, refuse } from '../../../errors.ts'
import { changeSetup, insertSetup, selectCharge, selectSetup, selectSetupOfMethod } from './payment-store.ts'
import type { PaymentProvider } from './provider.ts'
import { cardBehaviourOf, notAuthenticated } from './test-cards.ts'

type Form = Contract['billing']['enterTestCard']

const newId = (prefix: string) => `${prefix}_test_${randomBytes(9).toString('hex')}`

/** A provider that transfers no money; the card number determines the outcome, as in Stripe's test mode. */
export function createTestProvider(app: Pick<App, 'db' | 'clock'>): PaymentProvider {
  return {
    name: 'test',
    publishableKey: null,
    createCustomer: async ({ orgId }) => `cus_test_${orgId}`,
    startSetup: async (customerId) => {
      const clientSecret = `${newId('seti')}_secret_${randomBytes(12).toString('hex')}`
      await insertSetup(app.db, {
        clientSecret,
        orgId: Number(customerId.replace('cus_test_', '')),
        customerId,
        status: 'requires_payment_method',
        createdOn: dayOf(app.clock.now().getTime()),
      })
      return { clientSecret }
    },
    finishSetup: async (customerId, clientSecret) => {
      const setup = await selectSetup(app.db, clientSecret)
      if (!setup || setup.customerId !== customerId) throw notFound('Card form')
      if (setup.status !== 'succeeded' || !setup.card || !setup.paymentMethodId)
        throw refuse('CARD_NOT_SET_UP', 'The card was not confirmed. Please enter it again.')
      return paymentMethodOf(setup.paymentMethodId, setup.card)
    },
    deleteMethod: async () => undefined,
    charge: async ({ key, paymentMethodId }) => {
      const before = await selectCharge(app.db, key)
      if (before?.status === 'succeeded' && before.providerId)
        return { status: 'succeeded', providerId: before.providerId }
      const setup = await selectSetupOfMethod(app.db, paymentMethodId)
      const failure = setup?.card
        ? cardBehaviourOf(setup.card, app.clock.now()).charge
        : { code: 'resource_missing', message: 'No such payment method.' }
      if (failure) return { status: 'failed', providerId: null, ...failure }
      return { status: 'succeeded', providerId: `pi_test_${key}` }
    },
  }
}

/** Confirms a setup with a card, as Stripe's form does in the browser, with authentication if required. */
export async function enterTestCard(
  app: Pick<App, 'db' | 'clock'>,
  orgId: number,
  { clientSecret, number, expMonth, expYear, authentication }: BodyOf<Form>,
): Promise<PayloadOf<Form>> {
  const setup = await selectSetup(app.db, clientSecret)
  if (!setup || setup.orgId !== orgId) throw notFound('Card form')
  if (setup.status === 'succeeded') return { status: 'succeeded', error: null }
  const card = { number, expMonth, expYear }
  const { setup: outcome } = cardBehaviourOf(card, app.clock.now())
  const saveResult = async (status: PayloadOf<Form>['status'], error: string | null) => {
    const paymentMethodId = status === 'succeeded' ? newId('pm') : null
    await changeSetup(app.db, clientSecret, { status, card, paymentMethodId })
    return { status, error }
  }
  if (outcome === null || (outcome === 'authentication' && authentication === 'complete'))
    return saveResult('succeeded', null)
  if (outcome !== 'authentication') return saveResult('requires_payment_method', outcome.message)
  if (authentication === 'fail') return saveResult('requires_payment_method', notAuthenticated.message)
  return saveResult('requires_action', null)
}

const paymentMethodOf = (id: string, card: { number: string; expMonth: number; expYear: number }): PaymentMethod => ({
  id,
  card: { last4: card.number.slice(-4), exp_month: card.expMonth, exp_year: card.expYear },
  link: null,
})
