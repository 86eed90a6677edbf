import type { FastifyInstance } from 'fastify'
import { Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { notFound } from '../errors.ts'
import { metricsResponse } from '../health/health.ts'
import { metricsOf } from '../health/metrics.ts'

/** Serves `/metrics` on the port of the API, including the duration of its requests. */
export function mountServerMetrics(server: FastifyInstance, app: App): void {
  if (!app.config.SHOAL_METRICS_TOKEN) return
  metricsOf(app).registry.registerMetric(createRequestHistogram(server))
  server.get('/metrics', async (request, reply) => {
    const response = await metricsResponse(app, request.headers.authorization)
    if (!response) throw notFound('Page')
    return reply.header('cache-control', 'no-store').type(response.type).send(response.body)
  })
}

function createRequestHistogram(server: FastifyInstance): Histogram {
  const seconds = new Histogram({
    name: 'shoal_http_request_seconds',
    help: 'Time to the end of the response, for requests to the API and the console.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [],
  })
  server.addHook('onResponse', async (request, reply) => {
    // The label is the declared route, since actual paths name tenants and are unlimited in number.
    const labels = { method: request.method, route: request.routeOptions.url ?? 'none', status: reply.statusCode }
    seconds.observe(labels, reply.elapsedTime / 1000)
  })
  return seconds
}
