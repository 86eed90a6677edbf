import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { stripeEventsOf } from '../modules/billing/index.ts'
import { acceptBody, type ReadBody } from './read-body.ts'

/** Mounts Stripe's webhook. It is not in the contract, since only Stripe calls it, and its signature covers the raw body. */
export async function mountStripeEvents(server: FastifyInstance, app: App, read: ReadBody): Promise<void> {
  const handleEvent = stripeEventsOf(app)
  if (!handleEvent) return
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    acceptBody(scope, 'application/json', read, (text) => text)
    scope.post('/api/v1/billing/stripe-events', async (request, reply) => {
      await withRequestTimeouts(() =>
        handleEvent(String(request.body), String(request.headers['stripe-signature'] ?? '')),
      )
      return reply.code(200).send({ received: true })
    })
  })
}
