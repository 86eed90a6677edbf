import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { readiness } from '../readiness.ts'

/** `/healthz`: this process answers. `/readyz`: and what it needs answers too; names what does not (design 6). */
export function mountHealth(server: FastifyInstance, app: App): void {
  server.get('/healthz', () => ({ status: 'ok' }))
  server.get('/readyz', async (_, reply) => {
    const checks = await readiness(app)
    const isReady = Object.values(checks).every((c) => c === 'ok')
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? 'ok' : 'not ready', checks })
  })
}
