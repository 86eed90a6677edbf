import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { stripeEventsOf } from '../modules/billing/index.ts'

/** Mounts Stripe's webhook. It is not in the contract, since only Stripe calls it, and its signature covers the raw body. */
export async function mountStripeEvents(server: FastifyInstance, app: App): Promise<void> {
  const handleEvent = stripeEventsOf(app)
  if (!handleEvent) return
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
    scope.post('/api/v1/billing/stripe-events', async (request, reply) => {
      await withRequestTimeouts(() =>
        handleEvent(String(request.body), String(request.headers['stripe-signature'] ?? '')),
      )
      return reply.code(200).send({ received: true })
    })
  })
}
