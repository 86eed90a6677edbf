import { sql, timestampSql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import type { Range } from './range.ts'
import { selectAtMs } from './usage/usage-store.ts'

/**
 * The progress of a processor at one time. `blocks` is the number of blocks that it indexed since the previous sample;
 * null if unknown.
 */
export type ProgressSample = { atMs: number; lastBlock: number; chainHeight: number; blocks: number | null }

/** Returns the progress of a processor in the range, oldest first. */
export async function selectProgress(
  db: Db,
  squidId: number,
  processor: string,
  { fromMs, toMs }: Range,
): Promise<ProgressSample[]> {
  const { rows } = await db.execute<ProgressSample>(
    sql`select ${selectAtMs}, last_block as "lastBlock", chain_height as "chainHeight", blocks from container_samples
        where squid_id = ${squidId} and container = ${processor} and last_block is not null
          and at >= ${timestampSql(fromMs)} and at < ${timestampSql(toMs)} order by at`,
  )
  return rows
}

/** The usage of one container in one hour. `observedSeconds` is how long it was observed in any state except finished. */
export type ObservedHour = {
  squidId: number
  container: string
  atMs: number
  observedSeconds: number
  cpuSeconds: number | null
  memoryPeakBytes: number | null
  diskUsedBytes: number | null
  diskTotalBytes: number | null
}

/** Returns the usage of all containers of these versions by hour (UTC), oldest first. */
export async function selectHours(db: Db, squidIds: number[], { fromMs, toMs }: Range): Promise<ObservedHour[]> {
  const { rows } = await db.execute<ObservedHour>(
    sql`select squid_id as "squidId", container, ${selectAtMs}, observed_seconds as "observedSeconds", cpu_seconds as "cpuSeconds",
          memory_peak_bytes as "memoryPeakBytes", disk_used_bytes as "diskUsedBytes", disk_total_bytes as "diskTotalBytes"
        from container_hours where squid_id = any(${sql.param(squidIds)}::bigint[])
          and at >= ${timestampSql(fromMs)} and at < ${timestampSql(toMs)} order by at, squid_id, container`,
  )
  return rows
}

/** Returns the time of the newest sample; null before the first sample. */
export async function newestSampleAt(db: Db): Promise<Date | null> {
  const { rows } = await db.execute<{ atMs: number | null }>(
    sql`select (extract(epoch from max(at)) * 1000)::float8 as "atMs" from sampled_counters`,
  )
  const ms = rows[0]?.atMs ?? null
  return ms === null ? null : new Date(ms)
}
