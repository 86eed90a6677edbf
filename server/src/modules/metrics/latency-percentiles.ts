import type { Db } from '../../db/database.ts'
import { percentile } from './ingress/histogram.ts'
import { selectHistograms } from './ingress/read-ingress-store.ts'

/**
 * Returns a latency percentile (ms; `share` 0.95 is the 95th) and the number of successful requests since `sinceMs` for each version
 * that had any.
 */
export async function latencyPercentiles(
  db: Db,
  squidIds: number[],
  share: number,
  sinceMs: number,
): Promise<Map<number, { ms: number; requests: number }>> {
  const histograms = await selectHistograms(db, squidIds, sinceMs)
  return new Map(
    [...histograms].flatMap(([squidId, histogram]) => {
      const ms = percentile(histogram, share)
      return ms === null ? [] : [[squidId, { ms, requests: histogram.reduce((sum, n) => sum + n, 0) }]]
    }),
  )
}
