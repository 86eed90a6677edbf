import type { ClientBase } from 'pg'
import { tableOf, type Family, type Level } from '../levels.ts'

/** The computation of one level from the previous one, by `unit` of time. */
export type RollUpStep = { from: Level; to: Level; unit: string }

/** Returns the time up to which coarser levels are computed, in ms since 1970; null if nothing was ever counted. */
export async function readRolledUntil(client: ClientBase, family: Family): Promise<number | null> {
  const { rows } = await client.query<{ ms: number | null }>(
    `select (extract(epoch from coalesce((select rolled_until from metric_rollups where family = $1),
       (select min(at) from ${tableOf(family, firstLevel[family])}))) * 1000)::float8 as ms`,
    [family],
  )
  return rows[0]?.ms ?? null
}

const firstLevel = { container: 'samples', ingress: 'minutes' } as const satisfies Record<Family, Level>

/**
 * Returns the time up to which coarser levels are computed, `defaultMs` if there is none yet. Prevents gateways from
 * setting it back until the transaction ends.
 */
export async function lockRolledUntil(client: ClientBase, family: Family, defaultMs: number): Promise<number> {
  await client.query(
    'insert into metric_rollups (family, rolled_until) values ($1, to_timestamp($2::float8 / 1000)) on conflict do nothing',
    [family, defaultMs],
  )
  const { rows } = await client.query<{ ms: number }>(
    `select (extract(epoch from rolled_until) * 1000)::float8 as ms from metric_rollups where family = $1 for update`,
    [family],
  )
  return rows[0]?.ms ?? defaultMs
}

/** Sets the time up to which coarser levels are computed, in ms since 1970. */
export async function setRolledUntil(client: ClientBase, family: Family, ms: number): Promise<void> {
  await client.query('update metric_rollups set rolled_until = to_timestamp($2::float8 / 1000) where family = $1', [
    family,
    ms,
  ])
}

/** Recomputes the buckets of the level `step.to`, starting with the bucket that contains `sinceMs`. Idempotent. */
export async function recomputeLevel(
  client: ClientBase,
  family: Family,
  step: RollUpStep,
  sinceMs: number,
): Promise<void> {
  const columns = Object.keys(mergedColumns[family])
  await client.query(
    `insert into ${tableOf(family, step.to)} (${columns.join(', ')})
     ${family === 'container' ? containersSql(step) : ingressSql(step)}
     on conflict (${family === 'container' ? 'squid_id, at, container' : 'squid_id, at'})
     do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
    [sinceMs],
  )
}

/** Selects the buckets to roll up. The first condition selects partitions, and the second one can use the index (`timeRanges` in `tables.ts`). */
const sinceSql = (unit: string) => `at >= date_trunc('${unit}', to_timestamp($1::float8 / 1000), 'UTC')
   and at at time zone 'UTC' >= date_trunc('${unit}', to_timestamp($1::float8 / 1000) at time zone 'UTC')`
const bucketSql = (unit: string) => `date_trunc('${unit}', at, 'UTC')`

/** SQL for the newest row of each group, as an array. */
const newestRowSql = `(max(array[extract(epoch from at)::float8, last_block, chain_height, sync_ratio, eta_seconds, blocks_per_second])
   filter (where last_block is not null))`

const mergedColumns = {
  container: {
    squid_id: 'squid_id',
    at: 'at',
    container: 'container',
    observed_seconds: 'sum(observed_seconds)',
    cpu_seconds: 'sum(cpu_seconds)',
    cpu_limit_seconds: 'sum(cpu_limit_seconds)',
    throttled_seconds: 'sum(throttled_seconds)',
    memory_byte_seconds: 'sum(memory_byte_seconds)',
    memory_peak_bytes: 'max(memory_peak_bytes)',
    memory_limit_bytes: 'max(memory_limit_bytes)',
    oom_kills: 'sum(oom_kills)',
    crashes: 'sum(crashes)',
    disk_used_bytes: 'max(disk_used_bytes)',
    disk_total_bytes: 'max(disk_total_bytes)',
    blocks: 'sum(blocks)',
    rpc_requests: 'sum(rpc_requests)',
    rpc_failures: 'sum(rpc_failures)',
    last_block: `${newestRowSql}[2]`,
    chain_height: `${newestRowSql}[3]`,
    sync_ratio: `${newestRowSql}[4]`,
    eta_seconds: `${newestRowSql}[5]`,
    blocks_per_second: `${newestRowSql}[6]`,
  },
  ingress: {
    squid_id: 'squid_id',
    at: 'at',
    successes: 'successes',
    errors: 'errors',
    success_bytes: 'success_bytes',
    error_bytes: 'error_bytes',
    histogram: 'histogram',
  },
} as const

function containersSql({ from, unit }: RollUpStep): string {
  const values = Object.entries(mergedColumns.container).map(([column, value]) =>
    column === 'at' ? bucketSql(unit) : value,
  )
  return `select ${values.join(', ')} from ${tableOf('container', from)} where ${sinceSql(unit)}
          group by squid_id, ${bucketSql(unit)}, container`
}

/** Sums counts, and histograms element by element. */
function ingressSql({ from, unit }: RollUpStep): string {
  const source = `${tableOf('ingress', from)} where ${sinceSql(unit)}`
  return `with latency_buckets as (
      select squid_id, ${bucketSql(unit)} as bucket, i, sum(n) as n
      from (select squid_id, at, histogram from ${source}) f, unnest(histogram) with ordinality as h (n, i) group by 1, 2, 3
    ), histograms as (
      select squid_id, bucket, array_agg(n::bigint order by i) as histogram from latency_buckets group by 1, 2
    ), counts as (
      select squid_id, ${bucketSql(unit)} as bucket, sum(successes) as successes, sum(errors) as errors,
        sum(success_bytes) as success_bytes, sum(error_bytes) as error_bytes from ${source} group by 1, 2
    )
    select squid_id, bucket, successes, errors, success_bytes, error_bytes, histogram
    from counts join histograms using (squid_id, bucket)`
}

/** Deletes buckets that begin before `day` from a table that is not partitioned. */
export async function deleteBefore(client: ClientBase, family: Family, level: 'days' | 'months', day: string) {
  await client.query(`delete from ${tableOf(family, level)} where at < ($1::text || ' 00:00Z')::timestamptz`, [day])
}
