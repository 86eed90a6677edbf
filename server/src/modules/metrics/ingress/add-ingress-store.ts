import { DatabaseError } from 'pg'
import { dayOf } from '../../../clock.ts'
import type { Database } from '../../../db/database.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'

/** Requests to a version in one minute, as counted by one gateway. */
export type IngressMinute = {
  squidId: number
  /** Start of the minute. */
  minute: Date
  successes: number
  errors: number
  /** How many of `errors` the squid or the gateway caused. */
  failures: number
  successBytes: number
  errorBytes: number
  /** Counts of successful requests by latency bucket (`histogram.ts`). */
  histogram: number[]
}

/** Adds requests to the counters. The sums are exact for any number of gateways, even if counts arrive late. */
export async function addIngressMinutes(database: Database, rows: IngressMinute[]): Promise<void> {
  if (rows.length === 0) return
  // Sorted, because two gateways that write rows in the same order cannot deadlock.
  const ordered = rows.toSorted((a, b) => a.squidId - b.squidId || a.minute.getTime() - b.minute.getTime())
  try {
    await addCounts(database, ordered)
  } catch (error) {
    if (!isMissingPartition(error)) throw error
    await ensureDays(database, ordered)
    await addCounts(database, ordered)
  }
}

/** Adds the counts, and makes the next roll-up recompute longer buckets from the earliest changed minute on, in one statement. */
async function addCounts(database: Database, rows: IngressMinute[]): Promise<void> {
  await database.pool.query(
    `with added as (
       select * from jsonb_to_recordset($1) as r (squid_id bigint, at timestamptz, successes bigint, errors bigint, failures bigint,
         success_bytes bigint, error_bytes bigint, histogram bigint[])
     ), back as (
       update metric_rollups set rolled_until = (select min(at) from added)
       where family = 'ingress' and rolled_until > (select min(at) from added)
     )
     insert into ingress_minutes as t (squid_id, at, successes, errors, failures, success_bytes, error_bytes, histogram)
     select squid_id, at, successes, errors, failures, success_bytes, error_bytes, histogram from added
     on conflict (squid_id, at) do update set
       successes = t.successes + excluded.successes,
       errors = t.errors + excluded.errors,
       failures = t.failures + excluded.failures,
       success_bytes = t.success_bytes + excluded.success_bytes,
       error_bytes = t.error_bytes + excluded.error_bytes,
       histogram = (select array_agg(coalesce(a, 0) + coalesce(b, 0) order by i)
                    from unnest(t.histogram, excluded.histogram) with ordinality as both_ (a, b, i))`,
    [JSON.stringify(rows.map(toRecord))],
  )
}

const toRecord = (row: IngressMinute) => ({
  squid_id: row.squidId,
  at: row.minute.toISOString(),
  successes: row.successes,
  errors: row.errors,
  failures: row.failures,
  success_bytes: row.successBytes,
  error_bytes: row.errorBytes,
  histogram: row.histogram,
})

/** Whether Postgres rejected a row because no partition for its day exists. */
const isMissingPartition = (error: unknown) => error instanceof DatabaseError && error.code === '23514'

async function ensureDays(database: Database, rows: IngressMinute[]): Promise<void> {
  const client = await database.pool.connect()
  try {
    for (const day of new Set(rows.map((row) => dayOf(row.minute.getTime()))))
      await ensureDayPartition(client, 'ingress_minutes', day)
  } finally {
    client.release()
  }
}
