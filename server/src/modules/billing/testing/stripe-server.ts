import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Stripe } from 'stripe'
import { behaviourOf, notAuthenticated } from '../payments/test-cards.ts'

type Body = Record<string, string>
type Stored = Record<string, unknown> & { id: string }

/** Stripe's documented objects and errors on loopback: the requests of the adapter and of the browser's form. */
export type StripeServer = {
  url: string
  /** Submits Stripe's form. Returns the error it would show. */
  confirm: (clientSecret: string, number: string, authentication: 'complete' | 'fail') => string | null
  /** Link instead of a card. */
  confirmLink: (clientSecret: string, email: string) => void
  /** Makes the payment succeed later, as when its owner authenticates it. */
  succeed: (paymentId: string) => void
  /** A signed event, as Stripe sends it. */
  event: (type: string, paymentId: string, at?: Date) => { payload: string; signature: string }
  /** Loses the next response after its work was done. */
  loseNextAnswer: () => void
  payments: () => Stored[]
  requests: string[]
  close: () => Promise<void>
}

export async function startStripeServer(webhookSecret: string): Promise<StripeServer> {
  const objects = new Map<string, Stored>()
  const cards = new Map<string, string>()
  const byKey = new Map<string, { status: number; body: unknown }>()
  const requests: string[] = []
  let count = 0
  let isAnswerLost = false
  const next = (prefix: string) => `${prefix}_${++count}`
  const put = <T extends Stored>(object: T): T => (objects.set(object.id, object), object)
  const missing = {
    status: 404,
    body: { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such object' } },
  }

  const work = (method: string, path: string, body: Body): { status: number; body: unknown } => {
    const [, , kind = '', id = '', action = ''] = path.split('/')
    if (method === 'GET') {
      const found = objects.get(id)
      if (!found) return missing
      const method = objects.get(String(found['payment_method']))
      return { status: 200, body: kind === 'setup_intents' && method ? { ...found, payment_method: method } : found }
    }
    if (action === 'detach') return objects.delete(id) ? { status: 200, body: { id } } : missing
    if (kind === 'customers')
      return { status: 200, body: put({ id: next('cus'), object: 'customer', name: body['name'] }) }
    if (kind === 'setup_intents') {
      const setup = next('seti')
      return {
        status: 200,
        body: put({
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
    if (!objects.has(method)) return missing
    const number = cards.get(method)
    const card = { number: number ?? '4242424242424242', expMonth: 12, expYear: 2035 }
    const error = behaviourOf(card, new Date('2026-01-01')).charge
    const intent = put({
      id: next('pi'),
      object: 'payment_intent',
      amount: Number(body['amount']),
      currency: body['currency'],
      customer: body['customer'],
      metadata: { charge: body['metadata[charge]'] },
      status: error ? 'requires_payment_method' : 'succeeded',
      last_payment_error: error ? { type: 'card_error', ...error } : null,
    })
    if (!error) return { status: 200, body: intent }
    const known = ['card_declined', 'expired_card', 'incorrect_cvc', 'processing_error', 'authentication_required']
    const code = known.includes(error.code) ? error.code : 'card_declined'
    return {
      status: 402,
      body: {
        error: { type: 'card_error', code, decline_code: error.code, message: error.message, payment_intent: intent },
      },
    }
  }

  const server = createServer((request, response) => {
    void answer(request, response)
  })
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const path = (request.url ?? '').split('?')[0] ?? ''
    requests.push(`${request.method} ${path}`)
    const key = request.headers['idempotency-key']
    const known = typeof key === 'string' ? byKey.get(key) : undefined
    const result = known ?? work(request.method ?? '', path, Object.fromEntries(new URLSearchParams(text)))
    if (typeof key === 'string') byKey.set(key, result)
    if (isAnswerLost) {
      isAnswerLost = false
      request.socket.destroy()
      return
    }
    response.writeHead(result.status, { 'content-type': 'application/json' }).end(JSON.stringify(result.body))
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  const setupOf = (clientSecret: string): Stored => {
    const setup = objects.get(clientSecret.split('_secret_')[0] ?? '')
    if (!setup) throw new Error('no such set-up')
    return setup
  }
  const stripe = new Stripe('sk_test_server')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    confirm: (clientSecret, number, authentication) => {
      const setup = setupOf(clientSecret)
      const { setup: behaviour } = behaviourOf({ number, expMonth: 12, expYear: 2035 }, new Date('2026-01-01'))
      const isRefused = behaviour === 'authentication' && authentication === 'fail'
      const error = isRefused ? notAuthenticated : behaviour === 'authentication' ? null : behaviour
      if (error) {
        setup['last_setup_error'] = error
        return error.message
      }
      const method = put({
        id: next('pm'),
        object: 'payment_method',
        card: { last4: number.slice(-4), exp_month: 12, exp_year: 2035 },
      })
      cards.set(method.id, number)
      Object.assign(setup, { status: 'succeeded', payment_method: method.id })
      return null
    },
    confirmLink: (clientSecret, email) => {
      const method = put({ id: next('pm'), object: 'payment_method', link: { email } })
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
    loseNextAnswer: () => void (isAnswerLost = true),
    payments: () => [...objects.values()].filter((o) => o['object'] === 'payment_intent'),
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
