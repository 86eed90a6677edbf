import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { startStripeServer, type StripeServer } from '../testing/stripe-server.ts'
import { invoices } from '../tables.ts'
import { chargeUnpaidInvoices } from './collect.ts'
import { customerOf } from './methods.ts'
import { providerOf } from './provider-of.ts'

const webhookSecret = 'whsec_test'

describe.each(['test', 'stripe'] as const)('payment by %s', (name) => {
  let stripe: StripeServer
  let t: TestApp
  beforeAll(async () => {
    stripe = await startStripeServer(webhookSecret)
    const env = {
      SHOAL_STRIPE_SECRET_KEY: 'sk_test_1',
      SHOAL_STRIPE_PUBLISHABLE_KEY: 'pk_test_1',
      SHOAL_STRIPE_WEBHOOK_SECRET: webhookSecret,
    }
    t = await startTestApp(name === 'stripe' ? { env, external: { stripeUrl: stripe.url } } : {})
  })
  afterAll(async () => {
    await t.close()
    await stripe.close()
  })

  const billing = (org: TestOrg) => t.as(org.admin).billing
  const paramsOf = (org: TestOrg) => ({ code: org.code })

  /** Submits the card form: Stripe's, or that of the test provider. Returns the error it shows, or null. */
  async function confirm(org: TestOrg, clientSecret: string, number: string, authentication: 'complete' | 'fail') {
    if (name === 'stripe') return stripe.confirm(clientSecret, number, authentication)
    const card = { clientSecret, number, expMonth: 12, expYear: 2035, cvc: '123' }
    const first = await billing(org).enterTestCard({ params: paramsOf(org), body: card })
    if (first.status !== 'requires_action') return first.error
    return (await billing(org).enterTestCard({ params: paramsOf(org), body: { ...card, authentication } })).error
  }

  async function saveCard(org: TestOrg, number: string, authentication: 'complete' | 'fail' = 'complete') {
    t.clock.advance(1000)
    const { create } = await billing(org).getSettings({ params: paramsOf(org) })
    const error = await confirm(org, create.clientSecret, number, authentication)
    if (error) return error
    const saved = await billing(org).addPaymentMethod({ params: paramsOf(org), body: create })
    return saved.existing[0]?.card?.last4
  }

  let lastInvoiceNumber = 0
  const addUnpaidInvoice = (org: TestOrg, totalUsd: string) =>
    t.app.db.insert(invoices).values({
      number: ++lastInvoiceNumber,
      orgId: org.id,
      month: `2025-${String(lastInvoiceNumber).padStart(2, '0')}`,
      closedAt: t.clock.now(),
      receipt: {
        month: '',
        items: [],
        subTotal: '0',
        discounts: [],
        tax: { percent: '0', amount: '0' },
        total: totalUsd,
        isClosed: true,
        invoice: null,
      },
      customer: { code: org.code, name: org.code, details: null },
      totalUsd,
    })

  test.each([
    ['4242424242424242', '4242'],
    ['4000000000000341', '0341'],
    ['4000002500003155', '3155'],
    ['4000000000000002', 'Your card was declined.'],
    ['4000000000009995', 'Your card has insufficient funds.'],
    ['4000000000000069', 'Your card has expired.'],
    ['4000000000000127', "Your card's security code is incorrect."],
    ['4000000000000119', 'An error occurred while processing your card. Try again in a little bit.'],
    ['4242424242424241', 'Your card number is invalid.'],
  ])('saving card %s results in: %s', async (number, outcome) => {
    const org = await t.make.org({ status: 'DRAFT' })
    expect(await saveCard(org, number)).toBe(outcome)
    const { status } = await t.as(org.admin).orgs.get({ params: paramsOf(org) })
    expect(status).toBe(/^\d+$/.test(outcome) ? 'ACTIVE' : 'DRAFT')
  })

  test('a card is not saved without its authentication; the server reads the result of a setup from the provider, not from the browser', async () => {
    const org = await t.make.org({ status: 'DRAFT' })
    expect(await saveCard(org, '4000002500003155', 'fail')).toMatch('We are unable to authenticate')
    const { create } = await billing(org).getSettings({ params: paramsOf(org) })
    await expect(billing(org).addPaymentMethod({ params: paramsOf(org), body: create })).rejects.toMatchObject({
      status: 405,
    })
    const forged = { clientSecret: 'seti_999_secret_x' }
    await expect(billing(org).addPaymentMethod({ params: paramsOf(org), body: forged })).rejects.toMatchObject({
      status: 404,
    })
    // An organization cannot use the form of another organization.
    const other = await t.make.org()
    await confirm(org, create.clientSecret, '4242424242424242', 'complete')
    await expect(billing(other).addPaymentMethod({ params: paramsOf(other), body: create })).rejects.toMatchObject({
      status: 404,
    })
  })

  test.each([
    ['4242424242424242', null],
    ['4000002500003155', null],
    ['4000000000000341', 'Your card was declined.'],
    ['4000002760003184', 'Your card was declined. This transaction requires authentication.'],
    ['4000008260003178', 'Your card has insufficient funds.'],
  ])('charging card %s results in the error: %s', async (number, error) => {
    const org = await t.make.org()
    await saveCard(org, number)
    await addUnpaidInvoice(org, '12.34')
    expect(await billing(org).pay({ params: paramsOf(org) })).toEqual({
      status: error ? 'PAYMENT_ISSUES' : 'ACTIVE',
      error,
    })
    // A new card pays the invoice if it is unpaid; the invoice is charged only once.
    expect(await saveCard(org, '4242424242424242')).toBe('4242')
    const summary = await billing(org).getSummary({ params: paramsOf(org) })
    expect(summary).toMatchObject({ status: 'ACTIVE', unpaidUsd: '0.00' })
    if (name === 'stripe') {
      const paid = stripe.payments().filter((p) => p['status'] === 'succeeded' && p['customer'] !== undefined)
      const customer = await customerOf(t.app, providerOf(t.app), org)
      expect(paid.filter((p) => p['customer'] === customer).map((p) => p['amount'])).toEqual([1234])
    }
  })

  test('concurrent payments charge an invoice only once', async () => {
    const org = await t.make.org()
    await saveCard(org, '4242424242424242')
    await addUnpaidInvoice(org, '5')
    const provider = providerOf(t.app)
    await Promise.all([1, 2, 3].map(() => chargeUnpaidInvoices(t.app, provider, org.id, { isScheduled: false })))
    const { rows } = await t.app.database.pool.query(`select key, status from charges where org_id = $1`, [org.id])
    expect(rows).toEqual([{ key: expect.any(String), status: 'succeeded' }])
  })

  const lastDigitsOf = (existing: readonly { card: { last4: string } | null }[]) => existing.map((m) => m.card?.last4)
  const methodsOf = async (org: TestOrg) => (await billing(org).getSettings({ params: paramsOf(org) })).existing

  test('the last card cannot be deleted; others can', async () => {
    const org = await t.make.org()
    await saveCard(org, '4242424242424242')
    await saveCard(org, '4000002500003155')
    const existing = await methodsOf(org)
    expect(lastDigitsOf(existing)).toEqual(['3155', '4242'])
    const [first, second] = existing.map((m) => m.id)
    await billing(org).removePaymentMethod({ params: { ...paramsOf(org), id: first ?? '' } })
    await expect(
      billing(org).removePaymentMethod({ params: { ...paramsOf(org), id: second ?? '' } }),
    ).rejects.toMatchObject({ status: 405 })
  })

  test('a new default card is charged for unpaid invoices immediately', async () => {
    const org = await t.make.org()
    await saveCard(org, '4242424242424242')
    await saveCard(org, '4000000000000341')
    await addUnpaidInvoice(org, '3')
    expect(await billing(org).pay({ params: paramsOf(org) })).toMatchObject({ status: 'PAYMENT_ISSUES' })
    const [, workingCard] = await methodsOf(org)
    const params = { ...paramsOf(org), id: workingCard?.id ?? '' }
    const { status, existing } = await billing(org).makeDefaultPaymentMethod({ params })
    expect([status, lastDigitsOf(existing)]).toEqual(['ACTIVE', ['4242', '0341']])
    const other = await t.make.org()
    await expect(
      billing(other).makeDefaultPaymentMethod({ params: { ...params, code: other.code } }),
    ).rejects.toMatchObject({ status: 404 })
    const viewer = t.as(await t.make.member(org, 'developer')).billing
    await expect(viewer.makeDefaultPaymentMethod({ params })).rejects.toMatchObject({ status: 405 })
  })

  test('replacing a card deletes the old one only if the new one was confirmed', async () => {
    const org = await t.make.org()
    await saveCard(org, '4242424242424242')
    const [old] = await methodsOf(org)
    const replaces = old?.id ?? ''
    const { create } = await billing(org).getSettings({ params: paramsOf(org) })
    await expect(
      billing(org).addPaymentMethod({ params: paramsOf(org), body: { ...create, replaces } }),
    ).rejects.toMatchObject({ status: 405 })
    expect(lastDigitsOf(await methodsOf(org))).toEqual(['4242'])
    await confirm(org, create.clientSecret, '4000002500003155', 'complete')
    await expect(
      billing(org).addPaymentMethod({ params: paramsOf(org), body: { ...create, replaces: 'pm_unknown' } }),
    ).rejects.toMatchObject({ status: 404 })
    const { existing } = await billing(org).addPaymentMethod({ params: paramsOf(org), body: { ...create, replaces } })
    expect(lastDigitsOf(existing)).toEqual(['3155'])
    if (name === 'stripe') expect(stripe.requests).toContain(`POST /v1/payment_methods/${replaces}/detach`)
  })

  if (name === 'test') return

  const sendEvent = ({ payload, signature }: { payload: string; signature: string }) =>
    t.http.inject({
      method: 'POST',
      url: '/api/v1/billing/stripe-events',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      payload,
    })

  test('a request whose response was lost is repeated and charges only once', async () => {
    const org = await t.make.org()
    await saveCard(org, '4242424242424242')
    await addUnpaidInvoice(org, '7')
    const before = stripe.payments().length
    stripe.loseNextResponse()
    expect(await billing(org).pay({ params: paramsOf(org) })).toEqual({ status: 'ACTIVE', error: null })
    expect(stripe.payments().length - before).toBe(1)
  })

  test('Link can be used as a payment method', async () => {
    const org = await t.make.org()
    const { create } = await billing(org).getSettings({ params: paramsOf(org) })
    stripe.confirmLink(create.clientSecret, 'ada@example.com')
    const { existing } = await billing(org).addPaymentMethod({ params: paramsOf(org), body: create })
    expect(existing).toMatchObject([{ card: null, link: { email: 'ada@example.com' } }])
  })

  test('late, repeated and out-of-order events are checked with Stripe, and unsigned ones are rejected', async () => {
    const org = await t.make.org()
    await saveCard(org, '4000000000000341')
    await addUnpaidInvoice(org, '9')
    expect(await billing(org).pay({ params: paramsOf(org) })).toMatchObject({ status: 'PAYMENT_ISSUES' })
    const payment = stripe.payments().at(-1)?.id ?? ''
    const failedEvent = stripe.event('payment_intent.payment_failed', payment)
    stripe.succeed(payment)
    const succeededEvent = stripe.event('payment_intent.succeeded', payment)
    const forged = { ...succeededEvent, payload: succeededEvent.payload.replace('evt', 'evil') }
    expect((await sendEvent(forged)).statusCode).toBe(400)
    expect((await sendEvent({ ...succeededEvent, signature: 'none' })).statusCode).toBe(400)
    const old = stripe.event('payment_intent.succeeded', payment, new Date(Date.now() - 3_600_000))
    expect((await sendEvent(old)).statusCode).toBe(400)
    const status = async () => (await t.as(org.admin).orgs.get({ params: paramsOf(org) })).status
    expect(await status()).toBe('PAYMENT_ISSUES')
    for (const event of [succeededEvent, failedEvent, succeededEvent, failedEvent])
      expect((await sendEvent(event)).statusCode).toBe(200)
    expect(await status()).toBe('ACTIVE')
    const requests = stripe.requests.length
    await sendEvent(succeededEvent)
    expect(stripe.requests.length).toBe(requests)
  })
})

test('the server does not start with only some of the Stripe keys', async () => {
  await expect(startTestApp({ env: { SHOAL_STRIPE_SECRET_KEY: 'sk_test_1' } })).rejects.toThrow('Set all three')
})
