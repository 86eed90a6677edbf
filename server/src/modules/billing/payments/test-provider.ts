import type { Contract, PayloadOf, BodyOf, PaymentMethod } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../../app.ts'
import { notFound, refuse } from '../../../errors.ts'
import { changeSetup, insertSetup, selectCharge, selectSetup, selectSetupOf } from './payment-store.ts'
import type { PaymentProvider } from './provider.ts'
import { behaviourOf, notAuthenticated } from './test-cards.ts'

type Form = Contract['billing']['enterTestCard']

const id = (prefix: string) => `${prefix}_test_${randomBytes(9).toString('hex')}`

/** Moves no money; the card number decides the outcome, as in Stripe's test mode. */
export function createTestProvider(app: Pick<App, 'db' | 'clock'>): PaymentProvider {
  return {
    name: 'test',
    publishableKey: null,
    createCustomer: async ({ orgId }) => `cus_test_${orgId}`,
    startSetup: async (customerId) => {
      const clientSecret = `${id('seti')}_secret_${randomBytes(12).toString('hex')}`
      await insertSetup(app.db, {
        clientSecret,
        orgId: Number(customerId.replace('cus_test_', '')),
        customerId,
        status: 'requires_payment_method',
        createdOn: app.clock.now().toISOString().slice(0, 10),
      })
      return { clientSecret }
    },
    finishSetup: async (customerId, clientSecret) => {
      const setup = await selectSetup(app.db, clientSecret)
      if (!setup || setup.customerId !== customerId) throw notFound('Card form')
      if (setup.status !== 'succeeded' || !setup.card || !setup.paymentMethodId)
        throw refuse('CARD_NOT_SET_UP', 'The card was not confirmed. Please enter it again.')
      return displayOf(setup.paymentMethodId, setup.card)
    },
    deleteMethod: async () => undefined,
    charge: async ({ key, paymentMethodId }) => {
      const before = await selectCharge(app.db, key)
      if (before?.status === 'succeeded' && before.providerId)
        return { status: 'succeeded', providerId: before.providerId }
      const setup = await selectSetupOf(app.db, paymentMethodId)
      const failure = setup?.card
        ? behaviourOf(setup.card, app.clock.now()).charge
        : { code: 'resource_missing', message: 'No such payment method.' }
      if (failure) return { status: 'failed', providerId: null, ...failure }
      return { status: 'succeeded', providerId: `pi_test_${key}` }
    },
  }
}

/** Does what Stripe's form does in the browser: confirms a set-up with a card, with authentication if required. */
export async function enterTestCard(
  app: Pick<App, 'db' | 'clock'>,
  orgId: number,
  { clientSecret, number, expMonth, expYear, authentication }: BodyOf<Form>,
): Promise<PayloadOf<Form>> {
  const setup = await selectSetup(app.db, clientSecret)
  if (!setup || setup.orgId !== orgId) throw notFound('Card form')
  if (setup.status === 'succeeded') return { status: 'succeeded', error: null }
  const card = { number, expMonth, expYear }
  const { setup: answer } = behaviourOf(card, app.clock.now())
  const change = async (status: PayloadOf<Form>['status'], error: string | null) => {
    const paymentMethodId = status === 'succeeded' ? id('pm') : null
    await changeSetup(app.db, clientSecret, { status, card, paymentMethodId })
    return { status, error }
  }
  if (answer === null || (answer === 'authentication' && authentication === 'complete'))
    return change('succeeded', null)
  if (answer !== 'authentication') return change('requires_payment_method', answer.message)
  if (authentication === 'fail') return change('requires_payment_method', notAuthenticated.message)
  return change('requires_action', null)
}

const displayOf = (id: string, card: { number: string; expMonth: number; expYear: number }): PaymentMethod => ({
  id,
  card: { last4: card.number.slice(-4), exp_month: card.expMonth, exp_year: card.expYear },
  link: null,
})
