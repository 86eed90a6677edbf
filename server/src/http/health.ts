import type { FastifyInstance, FastifyReply } from 'fastify'
import type { App } from '../app.ts'
import { healthz, readyz, type HealthResponse } from '../health/health.ts'

/** `/healthz` and `/readyz` of the API's port. */
export function mountHealth(server: FastifyInstance, app: App): void {
  const send = (reply: FastifyReply, { status, type, body }: HealthResponse) =>
    reply.code(status).header('cache-control', 'no-store').type(type).send(body)
  server.get('/healthz', (_, reply) => send(reply, healthz()))
  server.get('/readyz', async (_, reply) => send(reply, await readyz(app)))
}
