import { join } from 'node:path'
import type { App } from '../../app.ts'
import { notificationsOf } from '../../db/notifications.ts'
import { measured } from '../../health/loops.ts'
import { chainsOf, rpcWatchChannel, saveUpstreamStates } from '../../modules/chains/index.ts'
import { Cache } from './cache.ts'
import { ChainService } from './chain-service.ts'
import { openDiskCache } from './disk-cache.ts'
import type { Pool } from './pool.ts'

/** The chains of one process. The RPC route and the Portal's local datasets share nodes and cache. */
export type Services = {
  /** Returns the service of a chain; null for an unknown chain. */
  find: (chain: string) => ChainService | null
  /** Releases the services. They stop polling nodes when the last user has released them. */
  close: () => Promise<void>
}

/** Maximum memory of the cache, which all chains share. */
const memoryBytes = 67_108_864
/** Interval at which the states of nodes are written to the database. */
const reportMs = 1_000
const servicesByApp = new WeakMap<App, { services: Services; users: number }>()

/** Returns the services of the process; creates them for the first user. */
export function openServices(app: App): Services {
  const shared = servicesByApp.get(app) ?? { services: createServices(app), users: 0 }
  servicesByApp.set(app, shared)
  shared.users += 1
  let isOpen = true
  return {
    find: shared.services.find,
    close: async () => {
      if (!isOpen) return
      isOpen = false
      shared.users -= 1
      if (shared.users > 0) return
      servicesByApp.delete(app)
      await shared.services.close()
    },
  }
}

function createServices(app: App): Services {
  const chains = chainsOf(app)
  const diskBytes = app.config.SHOAL_RPC_CACHE_MB * 1_048_576
  const disk = diskBytes > 0 ? openDiskCache(join(app.config.dataDir, 'rpc-cache.sqlite'), diskBytes, app.log) : null
  const cache = new Cache(memoryBytes, disk)
  const services = new Map<string, ChainService>()

  const find = (id: string): ChainService | null => {
    const existing = services.get(id)
    if (existing) return existing
    const chain = chains.find(id)
    if (!chain) return null
    const service = new ChainService(chain, cache, app.log)
    services.set(id, service)
    return service
  }
  const stopReports = reportHealth(app, () => [...services.values()].map((s) => s.pool))
  const stopWatching = notificationsOf(app.database).listen(rpcWatchChannel, {
    onMessage: (id) => find(id)?.pool.touch(),
  })
  return {
    find,
    close: async () => {
      stopWatching()
      stopReports()
      await Promise.all([...services.values()].map((s) => s.close()))
      disk?.close()
    },
  }
}

/**
 * Writes node health to the database every second, for an API that may run in another process. Returns a function that
 * stops these writes.
 */
function reportHealth(app: App, pools: () => Iterable<Pool>): () => void {
  const report = measured(app, 'RPC nodes', reportMs, async () => {
    const observedAt = app.clock.now()
    const rows = [...pools()]
      .filter((pool) => pool.isActive)
      .flatMap((pool) =>
        pool.upstreams.map((u) => ({
          chain: pool.chain.id,
          upstream: u.settings.name,
          isHealthy: u.fault === null && u.breaker.isClosed,
          isArchive: u.settings.archive,
          headBlock: u.head?.number ?? null,
          finalizedBlock: u.final?.number ?? null,
          latencyP50Ms: roundUp(u.latency.p50Ms),
          latencyP95Ms: roundUp(u.latency.p95Ms),
          reason: u.fault ?? (u.breaker.isClosed ? null : 'It failed several times in a row.'),
          observedAt,
        })),
      )
    await saveUpstreamStates(app.db, rows)
  })
  const timer = setInterval(
    () => void report().catch((error: unknown) => app.log.warn({ err: error }, 'failed to write RPC health')),
    reportMs,
  ).unref()
  return () => clearInterval(timer)
}

const roundUp = (ms: number | null): number | null => (ms === null ? null : Math.ceil(ms))
