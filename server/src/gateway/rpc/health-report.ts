import type { App } from '../../app.ts'
import { saveUpstreamStates } from '../../modules/rpc/index.ts'
import type { Pool } from './pool.ts'

const everyMs = 1_000

/** Writes what is seen of the nodes for the API to show, which may be another process. Answers how to stop. */
export function reportHealth(app: App, pools: () => Iterable<Pool>): () => void {
  const report = async () => {
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
          latencyP50Ms: rounded(u.latency.p50Ms),
          latencyP95Ms: rounded(u.latency.p95Ms),
          reason: u.fault ?? (u.breaker.isClosed ? null : 'It failed several times in a row.'),
          observedAt,
        })),
      )
    await saveUpstreamStates(app.db, rows)
  }
  const timer = setInterval(
    () => void report().catch((error: unknown) => app.log.warn({ err: error }, 'RPC health not written')),
    everyMs,
  ).unref()
  return () => clearInterval(timer)
}

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.ceil(ms))
