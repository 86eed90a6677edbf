import { and, asc, eq, gte, inArray, max, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import type { ChainHead } from './chain-head.ts'
import { chainHeads, rpcUpstreamStates } from './tables.ts'

export type UpstreamStateRow = typeof rpcUpstreamStates.$inferSelect

/** Returns the saved heads of these chains. */
export function selectHeads(db: Db, chains: string[]): Promise<ChainHead[]> {
  return db.select().from(chainHeads).where(inArray(chainHeads.chain, chains))
}

/** Adds or replaces the heads of chains. */
export async function saveHeads(db: Db, heads: ChainHead[]): Promise<void> {
  if (heads.length === 0) return
  await db
    .insert(chainHeads)
    .values(heads)
    .onConflictDoUpdate({
      target: chainHeads.chain,
      set: {
        headBlock: sql`excluded.head_block`,
        finalBlock: sql`excluded.final_block`,
        movedAt: sql`excluded.moved_at`,
        blockRate: sql`excluded.block_rate`,
        observedAt: sql`excluded.observed_at`,
      },
    })
}

/**
 * Returns the highest head and final block that healthy nodes report, by chain. Omits chains without a healthy node that a gateway
 * has checked since `since`.
 */
export async function selectObservedHeads(db: Db, chains: string[], since: Date) {
  const t = rpcUpstreamStates
  const rows = await db
    .select({ chain: t.chain, headBlock: max(t.headBlock), finalBlock: max(t.finalizedBlock) })
    .from(t)
    .where(and(inArray(t.chain, chains), eq(t.isHealthy, true), gte(t.observedAt, since)))
    .groupBy(t.chain)
  return rows.flatMap(({ headBlock, ...row }) => (headBlock === null ? [] : [{ ...row, headBlock }]))
}

/** Adds or replaces the states of upstreams. */
export async function saveUpstreamStates(db: Db, rows: UpstreamStateRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insert(rpcUpstreamStates)
    .values(rows)
    .onConflictDoUpdate({
      target: [rpcUpstreamStates.chain, rpcUpstreamStates.upstream],
      set: {
        isHealthy: sql`excluded.is_healthy`,
        isArchive: sql`excluded.is_archive`,
        headBlock: sql`excluded.head_block`,
        finalizedBlock: sql`excluded.finalized_block`,
        latencyP50Ms: sql`excluded.latency_p50_ms`,
        latencyP95Ms: sql`excluded.latency_p95_ms`,
        reason: sql`excluded.reason`,
        observedAt: sql`excluded.observed_at`,
      },
    })
}

/** Returns the states of the upstreams of a chain that a gateway checked since `since`, ordered by name. */
export function listUpstreamStates(db: Db, chain: string, since: Date): Promise<UpstreamStateRow[]> {
  return db
    .select()
    .from(rpcUpstreamStates)
    .where(and(eq(rpcUpstreamStates.chain, chain), gte(rpcUpstreamStates.observedAt, since)))
    .orderBy(asc(rpcUpstreamStates.upstream))
}
