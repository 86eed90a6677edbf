import { and, eq, gte, inArray, max, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import type { ChainHead } from './chain-head.ts'
import { chainHeads, rpcUpstreamStates } from './tables.ts'

export function selectHeads(db: Db, chains: string[]): Promise<ChainHead[]> {
  return db.select().from(chainHeads).where(inArray(chainHeads.chain, chains))
}

export async function putHeads(db: Db, heads: ChainHead[]): Promise<void> {
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
        pace: sql`excluded.pace`,
        observedAt: sql`excluded.observed_at`,
      },
    })
}

/** The head seen by healthy nodes of these chains; none for a chain that no gateway has checked since then. */
export async function selectShownHeads(db: Db, chains: string[], since: Date) {
  const t = rpcUpstreamStates
  const rows = await db
    .select({ chain: t.chain, headBlock: max(t.headBlock), finalBlock: max(t.finalizedBlock) })
    .from(t)
    .where(and(inArray(t.chain, chains), eq(t.isHealthy, true), gte(t.observedAt, since)))
    .groupBy(t.chain)
  return rows.flatMap(({ headBlock, ...row }) => (headBlock === null ? [] : [{ ...row, headBlock }]))
}
