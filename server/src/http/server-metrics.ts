import type { FastifyInstance } from 'fastify'
import { createHash, timingSafeEqual } from 'node:crypto'
import { collectDefaultMetrics, Gauge, Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { notFound } from '../errors.ts'
import { newestSampleAt } from '../modules/metrics/index.ts'
import { ownMetrics } from '../own-metrics.ts'
import { countEverything } from '../status-store.ts'

/**
 * `/metrics`: how this process does, for its operator's Prometheus. It names no organization and no version, and is there only
 * for who sends SHOAL_METRICS_TOKEN: squids run on this machine, too, so being local proves nothing.
 */
export function mountServerMetrics(server: FastifyInstance, app: App): void {
  const token = app.config.SHOAL_METRICS_TOKEN
  if (!token) return
  const registry = ownMetrics(app)
  collectDefaultMetrics({ register: registry })
  const metrics = [requestSeconds(server), databaseConnections(app), newestSample(app), installationCount(app)]
  for (const metric of metrics) registry.registerMetric(metric)
  server.get('/metrics', async (request, reply) => {
    if (!isSame(request.headers.authorization ?? '', `Bearer ${token}`)) throw notFound('Page')
    return reply
      .header('cache-control', 'no-store')
      .type(registry.contentType)
      .send(await registry.metrics())
  })
}

const hash = (text: string) => createHash('sha256').update(text).digest()
const isSame = (given: string, wanted: string) => timingSafeEqual(hash(given), hash(wanted))

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

function databaseConnections({ database: { pool } }: App): Gauge {
  return new Gauge({
    name: 'shoal_database_connections',
    help: 'Connections of this process to the database of the control plane; waiting: calls that wait for one.',
    labelNames: ['state'],
    registers: [],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}

function newestSample(app: App): Gauge {
  return new Gauge({
    name: 'shoal_newest_sample_seconds',
    help: 'When versions were last sampled by any worker, in seconds since 1970. Standing still: no worker does its work.',
    registers: [],
    async collect() {
      const at = await newestSampleAt(app.db)
      if (at) this.set(at.getTime() / 1000)
    },
  })
}

function installationCount(app: App): Gauge {
  return new Gauge({
    name: 'shoal_installation_count',
    help: 'How many there are in the whole installation: people, organizations, versions, containers, deployments in progress.',
    labelNames: ['of'],
    registers: [],
    async collect() {
      for (const [of, count] of Object.entries(await countEverything(app.db))) this.set({ of }, count)
    },
  })
}
