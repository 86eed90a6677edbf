import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { App } from '../app.ts'
import { oncePerProcess } from '../collections/once-per.ts'
import { canQuery } from '../db/probe.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { isSameSecret } from '../sealing/hash-secret.ts'
import { countLogsToMove } from '../modules/logs/index.ts'
import { newestSampleAt } from '../modules/metrics/index.ts'
import { servers } from '../modules/databases/index.ts'
import { registerLoopMetrics } from './loops.ts'
import { metricsRegistry } from './metrics-registry.ts'
import { readDisk, reserveBytes } from './disk.ts'
import { countInstallation } from './status-store.ts'

/** The metrics of one process for the operator's Prometheus. They name no organization and no version. */
export type ServerMetrics = {
  registry: Registry
  /** Whether the bearer token is SHOAL_METRICS_TOKEN. Local requests also need it, since squids run on this machine. */
  isAllowed: (authorization: string | undefined) => boolean
}

/** Returns the metrics of this process, which all its roles share. */
export const metricsOf = oncePerProcess((app: App): ServerMetrics => {
  const token = app.config.SHOAL_METRICS_TOKEN
  const registry = metricsRegistry(app)
  if (token) {
    collectDefaultMetrics({ register: registry })
    const gauges = [
      databaseConnections(app),
      postgresConnections(app),
      newestSample(app),
      ...(app.config.SHOAL_LOGS_DATABASE_URL === undefined ? [] : [logsDatabaseUp(app), logsToMove(app)]),
      installationCount(app),
      activeWorker(app),
      diskSpace(app),
    ]
    registerLoopMetrics(app)
    for (const gauge of gauges) registry.registerMetric(gauge)
  }
  return {
    registry,
    isAllowed: (authorization) => token !== undefined && isSameSecret(authorization ?? '', `Bearer ${token}`),
  }
})

function activeWorker(app: App): Gauge {
  return new Gauge({
    name: 'shoal_worker_active',
    help: '1 if the worker of this process is active, 0 if it is a standby; absent without the worker role.',
    registers: [],
    collect() {
      const worker = app.componentStates?.worker?.()
      if (worker) this.set(worker.state.role === 'active' ? 1 : 0)
    },
  })
}

function diskSpace({ config }: App): Gauge {
  return new Gauge({
    name: 'shoal_disk_bytes',
    help: 'The disk of the data directory: free (what this process may still write), size, and reserve (deployments are refused while less is free).',
    labelNames: ['state'],
    registers: [],
    async collect() {
      const disk = await readDisk(config.dataDir).catch(() => null)
      if (!disk) return this.reset()
      this.set({ state: 'free' }, disk.freeBytes)
      this.set({ state: 'size' }, disk.sizeBytes)
      this.set({ state: 'reserve' }, reserveBytes(disk, config))
    },
  })
}

/** Returns null while the database is unavailable, so that the other metrics are still served. */
const orNull = <T>(query: () => Promise<T>): Promise<T | null> => withRequestTimeouts(query).catch(() => null)

function databaseConnections({ database: { pool } }: App): Gauge {
  return new Gauge({
    name: 'shoal_database_connections',
    help: 'Connections of this process to the control plane database; waiting: queries that wait for a connection.',
    labelNames: ['state'],
    registers: [],
    collect() {
      this.set({ state: 'busy' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}

function postgresConnections(app: App): Gauge {
  return new Gauge({
    name: 'shoal_postgres_connections',
    help: 'Connections of the Postgres servers with the databases of squids: open (by all clients) and max (its limit).',
    labelNames: ['server', 'state'],
    registers: [],
    async collect() {
      for (const { server, open, max } of (await orNull(() => servers.connections(app))) ?? []) {
        this.set({ server, state: 'open' }, open)
        this.set({ server, state: 'max' }, max)
      }
    },
  })
}

function logsDatabaseUp({ config }: App): Gauge {
  return new Gauge({
    name: 'shoal_logs_database_up',
    help: '1 if the database of SHOAL_LOGS_DATABASE_URL responds, otherwise 0; absent without the setting.',
    registers: [],
    async collect() {
      const url = config.SHOAL_LOGS_DATABASE_URL
      if (url !== undefined) this.set((await canQuery(url, 1_000)) ? 1 : 0)
    },
  })
}

function logsToMove(app: App): Gauge {
  return new Gauge({
    name: 'shoal_logs_versions_to_move',
    help: 'Versions whose earlier log lines are still to be moved to the database of SHOAL_LOGS_DATABASE_URL; absent without the setting.',
    registers: [],
    async collect() {
      const count =
        app.config.SHOAL_LOGS_DATABASE_URL === undefined ? null : await orNull(() => countLogsToMove(app.db))
      if (count !== null) this.set(count)
    },
  })
}

function newestSample(app: App): Gauge {
  return new Gauge({
    name: 'shoal_newest_sample_seconds',
    help: 'When any worker last sampled versions, in seconds since 1970. If it stops increasing, no worker is working.',
    registers: [],
    async collect() {
      const at = await orNull(() => newestSampleAt(app.db))
      if (at) this.set(at.getTime() / 1000)
    },
  })
}

function installationCount(app: App): Gauge {
  return new Gauge({
    name: 'shoal_installation_count',
    help: 'Totals of the installation: users, organizations, versions, containers, deployments in progress.',
    labelNames: ['of'],
    registers: [],
    async collect() {
      const counts = await orNull(() => countInstallation(app.db))
      for (const [of, count] of Object.entries(counts ?? {})) this.set({ of }, count)
    },
  })
}
