import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { stripeEventsOf } from '../modules/billing/index.ts'

/** Where Stripe sends its events. Apart from the contract: the signature is of the very bytes, and nobody else calls it. */
export async function mountStripeEvents(server: FastifyInstance, app: App): Promise<void> {
  const take = stripeEventsOf(app)
  if (!take) return
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
    scope.post('/api/v1/billing/stripe-events', async (request, reply) => {
      await withRequestTimeouts(() => take(String(request.body), String(request.headers['stripe-signature'] ?? '')))
      return reply.code(200).send({ received: true })
    })
  })
}
