// Reads tables of other modules: squid_databases. Samples the size of databases.

import type { Profile } from '@shoal/contract'
import type { ClientBase } from 'pg'
import type { Counters, Sample } from './sample.ts'

export type DatabaseRow = {
  squidId: number
  database: string
  profile: Profile
  usedBytes: number | null
  totalBytes: number
}

/** The databases of all versions, including hibernated ones, which still use disk. */
export async function selectDatabases(client: ClientBase): Promise<DatabaseRow[]> {
  const { rows } = await client.query<DatabaseRow>(
    `select squid_id as "squidId", database, profile, used_bytes as "usedBytes", total_bytes as "totalBytes" from squid_databases`,
  )
  return rows
}

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

/** Of two samples at the same time, the first is kept. */
export async function insertSamples(client: ClientBase, atMs: number, samples: Sample[]): Promise<void> {
  const records = samples.map(({ progress, ...sample }) => snakeKeys({ ...sample, ...progress }))
  await client.query(
    `insert into container_samples (at, ${names})
     select to_timestamp($1::float8 / 1000), ${names} from jsonb_to_recordset($2) as r (${columns.join(', ')})
     on conflict do nothing`,
    [atMs, JSON.stringify(records)],
  )
}

export async function putCounters(client: ClientBase, counters: Counters[]): Promise<void> {
  const records = counters.map(({ atMs, ...row }) => snakeKeys({ ...row, at: new Date(atMs).toISOString() }))
  await client.query(
    `insert into sampled_counters
       (squid_id, generation, container, run, at, cpu_seconds, throttled_seconds, oom_kills, crashes, last_block, rpc_requests, rpc_failures)
     select squid_id, generation, container, run, at, cpu_seconds, throttled_seconds, oom_kills, crashes, last_block, rpc_requests, rpc_failures
     from jsonb_to_recordset($1) as r (squid_id bigint, generation int, container text, run text, at timestamptz, cpu_seconds float8,
       throttled_seconds float8, oom_kills bigint, crashes bigint, last_block bigint, rpc_requests bigint, rpc_failures bigint)
     on conflict (squid_id, generation, container) do update set run = excluded.run, at = excluded.at, cpu_seconds = excluded.cpu_seconds,
       throttled_seconds = excluded.throttled_seconds, oom_kills = excluded.oom_kills, crashes = excluded.crashes,
       last_block = excluded.last_block, rpc_requests = excluded.rpc_requests, rpc_failures = excluded.rpc_failures`,
    [JSON.stringify(records)],
  )
}

export async function deleteCountersBefore(client: ClientBase, atMs: number): Promise<void> {
  await client.query('delete from sampled_counters where at < to_timestamp($1::float8 / 1000)', [atMs])
}

const snakeKeys = (record: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(record).map(([key, value]) => [key.replaceAll(/[A-Z]/g, (c) => `_${c.toLowerCase()}`), value]),
  )
