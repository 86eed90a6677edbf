import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Stripe } from 'stripe'
import { cardBehaviourOf, notAuthenticated } from '../payments/test-cards.ts'

type Body = Record<string, string>
type Stored = Record<string, unknown> & { id: string }

/**
 * A local server that responds to the payment provider with Stripe's documented objects and errors, and simulates Stripe's form.
 */
export type StripeServer = {
  url: string
  /** Submits Stripe's form. Returns the error that the form would show; null if there is none. */
  confirm: (clientSecret: string, number: string, authentication: 'complete' | 'fail') => string | null
  /** Submits Stripe's form with Link instead of a card. */
  confirmLink: (clientSecret: string, email: string) => void
  /** Makes a failed payment succeed, for example because the card's owner authenticated it later. */
  succeed: (paymentId: string) => void
  /** Returns a signed event, as Stripe sends it. */
  event: (type: string, paymentId: string, at?: Date) => { payload: string; signature: string }
  /** Executes the next request but drops its response. */
  loseNextResponse: () => void
  /** Returns all payments, oldest first. */
  payments: () => Stored[]
  /** The method and path of each request, oldest first. */
  requests: string[]
  close: () => Promise<void>
}

/** Starts the server on loopback; it signs its events with `webhookSecret`. */
export async function startStripeServer(webhookSecret: string): Promise<StripeServer> {
  const objects = new Map<string, Stored>()
  const cards = new Map<string, string>()
  const responsesByKey = new Map<string, { status: number; body: unknown }>()
  const requests: string[] = []
  let idCount = 0
  let isNextResponseLost = false
  const nextId = (prefix: string) => `${prefix}_${++idCount}`
  const store = <T extends Stored>(object: T): T => (objects.set(object.id, object), object)
  const notFound = {
    status: 404,
    body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' } },
  }

  const handle = (method: string, path: string, body: Body): { status: number; body: unknown } => {
    const [, , kind = '', id = '', action = ''] = path.split('/')
    if (method === 'GET') {
      const object = objects.get(id)
      if (!object) return notFound
      const paymentMethod = objects.get(String(object['payment_method']))
      const isExpanded = kind === 'setup_intents' && paymentMethod !== undefined
      return { status: 200, body: isExpanded ? { ...object, payment_method: paymentMethod } : object }
    }
    if (action === 'detach') return objects.delete(id) ? { status: 200, body: { id } } : notFound
    if (kind === 'customers')
      return { status: 200, body: store({ id: nextId('cus'), object: 'customer', name: body['name'] }) }
    if (kind === 'setup_intents') {
      const setup = nextId('seti')
      return {
        status: 200,
        body: store({
          id: setup,
          object: 'setup_intent',
          client_secret: `${setup}_secret_x`,
          customer: body['customer'],
          status: 'requires_payment_method',
          payment_method: null,
          last_setup_error: null,
        }),
      }
    }
    return pay(body)
  }

  const pay = (body: Body): { status: number; body: unknown } => {
    const method = body['payment_method'] ?? ''
    if (!objects.has(method)) return notFound
    const number = cards.get(method)
    const card = { number: number ?? '4242424242424242', expMonth: 12, expYear: 2035 }
    const error = cardBehaviourOf(card, new Date('2026-01-01')).charge
    const intent = store({
      id: nextId('pi'),
      object: 'payment_intent',
      amount: Number(body['amount']),
      currency: body['currency'],
      customer: body['customer'],
      metadata: { charge: body['metadata[charge]'] },
      status: error ? 'requires_payment_method' : 'succeeded',
      last_payment_error: error ? { type: 'card_error', ...error } : null,
    })
    if (!error) return { status: 200, body: intent }
    const publicCodes = [
      'card_declined',
      'expired_card',
      'incorrect_cvc',
      'processing_error',
      'authentication_required',
    ]
    const code = publicCodes.includes(error.code) ? error.code : 'card_declined'
    return {
      status: 402,
      body: {
        error: { type: 'card_error', code, decline_code: error.code, message: error.message, payment_intent: intent },
      },
    }
  }

  const server = createServer((request, response) => {
    void respond(request, response)
  })
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const path = (request.url ?? '').split('?')[0] ?? ''
    requests.push(`${request.method} ${path}`)
    const key = request.headers['idempotency-key']
    const previous = typeof key === 'string' ? responsesByKey.get(key) : undefined
    const result = previous ?? handle(request.method ?? '', path, Object.fromEntries(new URLSearchParams(text)))
    if (typeof key === 'string') responsesByKey.set(key, result)
    if (isNextResponseLost) {
      isNextResponseLost = false
      request.socket.destroy()
      return
    }
    response.writeHead(result.status, { 'content-type': 'application/json' }).end(JSON.stringify(result.body))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const setupOf = (clientSecret: string): Stored => {
    const setup = objects.get(clientSecret.split('_secret_')[0] ?? '')
    if (!setup) throw new Error('no such setup')
    return setup
  }
  const stripe = new Stripe('sk_test_server')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    confirm: (clientSecret, number, authentication) => {
      const setup = setupOf(clientSecret)
      const { setup: behaviour } = cardBehaviourOf({ number, expMonth: 12, expYear: 2035 }, new Date('2026-01-01'))
      const isAuthenticationFailed = behaviour === 'authentication' && authentication === 'fail'
      const error = isAuthenticationFailed ? notAuthenticated : behaviour === 'authentication' ? null : behaviour
      if (error) {
        setup['last_setup_error'] = error
        return error.message
      }
      const method = store({
        id: nextId('pm'),
        object: 'payment_method',
        card: { last4: number.slice(-4), exp_month: 12, exp_year: 2035 },
      })
      cards.set(method.id, number)
      Object.assign(setup, { status: 'succeeded', payment_method: method.id })
      return null
    },
    confirmLink: (clientSecret, email) => {
      const method = store({ id: nextId('pm'), object: 'payment_method', link: { email } })
      Object.assign(setupOf(clientSecret), { status: 'succeeded', payment_method: method.id })
    },
    succeed: (id) => void Object.assign(objects.get(id) ?? {}, { status: 'succeeded', last_payment_error: null }),
    event: (type, paymentId, at = new Date()) => {
      const object = { ...objects.get(paymentId) }
      const payload = JSON.stringify({ id: `evt_${type}_${paymentId}`, object: 'event', type, data: { object } })
      const timestamp = Math.floor(at.getTime() / 1000)
      return {
        payload,
        signature: stripe.webhooks.generateTestHeaderString({ payload, secret: webhookSecret, timestamp }),
      }
    },
    loseNextResponse: () => void (isNextResponseLost = true),
    payments: () => [...objects.values()].filter((o) => o['object'] === 'payment_intent'),
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
