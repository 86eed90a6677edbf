import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { notFound } from '../errors.ts'
import { metrics } from '../health/health.ts'
import { metricsOf } from '../health/metrics.ts'

/** `/metrics` of the API's port, with how long its calls take. */
export function mountServerMetrics(server: FastifyInstance, app: App): void {
  if (!app.config.SHOAL_METRICS_TOKEN) return
  metricsOf(app).registry.registerMetric(requestSeconds(server))
  server.get('/metrics', async (request, reply) => {
    const answer = await metrics(app, request.headers.authorization)
    if (!answer) throw notFound('Page')
    return reply.header('cache-control', 'no-store').type(answer.type).send(answer.body)
  })
}

function requestSeconds(server: FastifyInstance): Histogram {
  const seconds = new Histogram({
    name: 'shoal_http_request_seconds',
    help: 'Time to the end of the answer of calls to the API and the console.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [],
  })
  server.addHook('onResponse', async (request, reply) => {
    // The route as it is declared: what stands in addresses names tenants, and there is no end of them.
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none', status: reply.statusCode }
    seconds.observe(labels, reply.elapsedTime / 1000)
  })
  return seconds
}
