// Reads tables of other modules: squid_databases. Samples the size of databases.

import type { Profile } from '@shoal/contract'
import type { ClientBase } from 'pg'
import { inBatches } from '../../../db/batches.ts'
import type { Database, Db } from '../../../db/database.ts'
import type { Counters, Sample } from './sample.ts'
import { samplerState } from '../tables.ts'

/** The database of a version, with its size as last measured; `usedBytes` is null before the first measurement. */
export type DatabaseRow = {
  squidId: number
  database: string
  server: string
  profile: Profile
  usedBytes: number | null
  totalBytes: number
}

/** Returns the databases of all versions, including hibernated ones, which still use disk. */
export async function selectDatabases(client: ClientBase): Promise<DatabaseRow[]> {
  const { rows } = await client.query<DatabaseRow>(
    `select squid_id as "squidId", server, database, profile, used_bytes as "usedBytes", total_bytes as "totalBytes" from squid_databases`,
  )
  return rows
}

/** Returns the counters of each container at its last sample. */
export async function selectCounters(client: ClientBase): Promise<Counters[]> {
  const { rows } = await client.query<Counters>(
    `select squid_id as "squidId", generation, container, run, (extract(epoch from at) * 1000)::float8 as "atMs",
       cpu_seconds as "cpuSeconds", throttled_seconds as "throttledSeconds", oom_kills as "oomKills", crashes,
       last_block as "lastBlock", rpc_requests as "rpcRequests", rpc_failures as "rpcFailures" from sampled_counters`,
  )
  return rows
}

const columns = [
  'squid_id bigint',
  'container text',
  'observed_seconds float8',
  'cpu_seconds float8',
  'cpu_limit_seconds float8',
  'throttled_seconds float8',
  'memory_byte_seconds float8',
  'memory_peak_bytes bigint',
  'memory_limit_bytes bigint',
  'oom_kills bigint',
  'crashes bigint',
  'disk_used_bytes bigint',
  'disk_total_bytes bigint',
  'blocks bigint',
  'last_block bigint',
  'chain_height bigint',
  'sync_ratio float8',
  'eta_seconds float8',
  'blocks_per_second float8',
  'rpc_requests bigint',
  'rpc_failures bigint',
]
const names = columns.map((column) => column.split(' ')[0]).join(', ')

/** Inserts samples. If a container already has a sample of this time, that sample is kept. */
export async function insertSamples(client: ClientBase, atMs: number, samples: Sample[]): Promise<void> {
  for (const batch of inBatches(samples))
    await client.query(
      `insert into container_samples (at, ${names})
       select to_timestamp($1::float8 / 1000), ${names} from jsonb_to_recordset($2) as r (${columns.join(', ')})
       on conflict do nothing`,
      [atMs, JSON.stringify(batch.map(sampleRecord))],
    )
}

/** The names are written out, because computing them for each row takes longer than all else. */
const sampleRecord = ({ progress, ...sample }: Sample) => ({
  squid_id: sample.squidId,
  container: sample.container,
  observed_seconds: sample.observedSeconds,
  cpu_seconds: sample.cpuSeconds,
  cpu_limit_seconds: sample.cpuLimitSeconds,
  throttled_seconds: sample.throttledSeconds,
  memory_byte_seconds: sample.memoryByteSeconds,
  memory_peak_bytes: sample.memoryPeakBytes,
  memory_limit_bytes: sample.memoryLimitBytes,
  oom_kills: sample.oomKills,
  crashes: sample.crashes,
  disk_used_bytes: sample.diskUsedBytes,
  disk_total_bytes: sample.diskTotalBytes,
  blocks: sample.blocks,
  rpc_requests: sample.rpcRequests,
  rpc_failures: sample.rpcFailures,
  ...(progress && {
    last_block: progress.lastBlock,
    chain_height: progress.chainHeight,
    sync_ratio: progress.syncRatio,
    eta_seconds: progress.etaSeconds,
    blocks_per_second: progress.blocksPerSecond,
  }),
})

/** Inserts the counters of containers, or replaces those of the previous sample. */
export async function putCounters(client: ClientBase, counters: Counters[]): Promise<void> {
  for (const batch of inBatches(counters))
    await client.query(
      `insert into sampled_counters
       (squid_id, generation, container, run, at, cpu_seconds, throttled_seconds, oom_kills, crashes, last_block, rpc_requests, rpc_failures)
     select squid_id, generation, container, run, to_timestamp(at_ms / 1000), cpu_seconds, throttled_seconds, oom_kills, crashes, last_block,
       rpc_requests, rpc_failures
     from jsonb_to_recordset($1) as r (squid_id bigint, generation int, container text, run text, at_ms float8, cpu_seconds float8,
       throttled_seconds float8, oom_kills bigint, crashes bigint, last_block bigint, rpc_requests bigint, rpc_failures bigint)
     on conflict (squid_id, generation, container) do update set run = excluded.run, at = excluded.at, cpu_seconds = excluded.cpu_seconds,
       throttled_seconds = excluded.throttled_seconds, oom_kills = excluded.oom_kills, crashes = excluded.crashes,
       last_block = excluded.last_block, rpc_requests = excluded.rpc_requests, rpc_failures = excluded.rpc_failures`,
      [JSON.stringify(batch.map(counterRecord))],
    )
}

const counterRecord = (counters: Counters) => ({
  squid_id: counters.squidId,
  generation: counters.generation,
  container: counters.container,
  run: counters.run,
  at_ms: counters.atMs,
  cpu_seconds: counters.cpuSeconds,
  throttled_seconds: counters.throttledSeconds,
  oom_kills: counters.oomKills,
  crashes: counters.crashes,
  last_block: counters.lastBlock,
  rpc_requests: counters.rpcRequests,
  rpc_failures: counters.rpcFailures,
})

/** Records when containers were last sampled. */
export async function putSampledAt(client: ClientBase, atMs: number): Promise<void> {
  await client.query(
    `insert into sampler_state (id, sampled_at) values (1, to_timestamp($1::float8 / 1000))
     on conflict (id) do update set sampled_at = excluded.sampled_at`,
    [atMs],
  )
}

/** Deletes the counters of containers whose last sample is older than `atMs`. */
export async function deleteCountersBefore(client: ClientBase, atMs: number): Promise<void> {
  await client.query('delete from sampled_counters where at < to_timestamp($1::float8 / 1000)', [atMs])
}

/** A Postgres process that serves one connection. */
export type Backend = { pid: number; database: string }

/** Returns the processes that serve the connections to all databases of the cluster. */
export async function listBackends(cluster: Database): Promise<Backend[]> {
  // The view pg_stat_activity would join all databases.
  const { rows } = await cluster.pool.query<Backend>(
    `select pid, (select datname from pg_database where oid = datid) as database
     from pg_stat_get_activity(null) where datid <> 0`,
  )
  return rows
}

/** Returns the process that serves the current connection. */
export async function readOwnBackend(cluster: Database): Promise<Backend & { startedMs: number }> {
  const { rows } = await cluster.pool.query<Backend & { startedMs: number }>(
    `select pid, datname as database, (extract(epoch from backend_start) * 1000)::float8 as "startedMs"
     from pg_stat_activity where pid = pg_backend_pid()`,
  )
  const [own] = rows
  if (!own) throw new Error('Postgres does not list the current connection')
  return own
}

/** Returns the time of the newest sample; null before the first sample. */
export async function newestSampleAt(db: Db): Promise<Date | null> {
  const [row] = await db.select().from(samplerState)
  return row?.sampledAt ?? null
}
