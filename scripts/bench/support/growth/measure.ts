import { setTimeout as delay } from 'node:timers/promises'
import type { Shoal } from '../../../../e2e/support/shoal.ts'
import type { WorkerApp } from '../../../../server/src/app.ts'
import { firstOrg } from './fill.ts'
import { postgresUsage, serverUsage } from './processes.ts'

/** The rounds of one loop: their mean duration, and the time between them. */
export type LoopTimes = { name: string; meanMs: number; periodMs: number }

/** What one size of the installation needs. */
export type Measurement = {
  versions: number
  serverMb: number
  postgresMb: number
  serverCores: number
  postgresCores: number
  connections: number
  health: Percentiles
  list: Percentiles
  insertedRowsPerDay: number
  updatedRowsPerDay: number
  /** Bytes of the inserted rows with their indexes, and bytes of the write-ahead log. */
  insertedBytesPerDay: number
  walBytesPerDay: number
  loops: LoopTimes[]
  /** Seconds from the start of a worker until all programs run; null if it was not measured. */
  adoptionSeconds: number | null
}

/** In milliseconds. */
export type Percentiles = { p50: number; p99: number }

type Pool = WorkerApp['database']['pool']
type Subject = { shoal: Shoal; pool: Pool; token: string; metricsToken: string }
type TableCounts = { name: string; inserted: number; updated: number; bytesPerRow: number }

const secondsPerDay = 86_400
const probeIntervalMs = 200

function percentiles(times: number[]): Percentiles {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}

async function readTables(pool: Pool): Promise<Map<string, TableCounts>> {
  const { rows } = await pool.query<TableCounts>(
    `select relname as name, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated,
       pg_total_relation_size(relid)::float8 / greatest(n_live_tup + n_dead_tup, 1) as "bytesPerRow" from pg_stat_user_tables`,
  )
  return new Map(rows.map((row) => [row.name, row]))
}

async function readNumber(pool: Pool, expression: string): Promise<number> {
  const { rows } = await pool.query<{ value: number }>(`select (${expression})::float8 as value`)
  return rows[0]?.value ?? Number.NaN
}

type LoopTotals = Map<string, { seconds: number; rounds: number }>

async function readLoops({ shoal, metricsToken }: Subject): Promise<LoopTotals> {
  const response = await fetch(`${shoal.url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
  const totals: LoopTotals = new Map()
  for (const [, part = '', name = '', value] of (await response.text()).matchAll(
    /^shoal_loop_seconds_(sum|count)\{loop="([^"]+)"\} (\S+)$/gm,
  )) {
    const total = totals.get(name) ?? { seconds: 0, rounds: 0 }
    totals.set(name, { ...total, [part === 'sum' ? 'seconds' : 'rounds']: Number(value) })
  }
  return totals
}

/** Returns the loops that processes have reported, with their periods and the duration of the last round. */
async function readReports(pool: Pool): Promise<Map<string, { intervalMs: number; lastMs: number | null }>> {
  const { rows } = await pool.query<{ loops: { name: string; intervalMs: number; lastMs: number | null }[] }>(
    `select report -> 'loops' as loops from replicas order by seen_at desc limit 1`,
  )
  return new Map(rows[0]?.loops.map((loop) => [loop.name, loop]))
}

async function loopTimes(subject: Subject, before: LoopTotals): Promise<LoopTimes[]> {
  const after = await readLoops(subject)
  return [...(await readReports(subject.pool))].map(([name, { intervalMs, lastMs }]) => {
    const [start, end] = [before.get(name) ?? { seconds: 0, rounds: 0 }, after.get(name) ?? { seconds: 0, rounds: 0 }]
    const rounds = end.rounds - start.rounds
    // A loop with a long period has had no round in this time.
    const meanMs = rounds > 0 ? ((end.seconds - start.seconds) / rounds) * 1000 : (lastMs ?? 0)
    return { name, meanMs, periodMs: intervalMs }
  })
}

/** Sends requests to the health check and for the list of the first organization, until `untilMs`. */
async function probe({ shoal, token }: Subject, untilMs: number): Promise<{ health: Percentiles; list: Percentiles }> {
  const times = { health: [] as number[], list: [] as number[], first: [] as number[] }
  const timed = async (to: number[], url: string, headers = {}) => {
    const startedMs = performance.now()
    const response = await fetch(`${shoal.url}${url}`, { headers })
    await response.arrayBuffer()
    if (!response.ok) throw new Error(`${url} responded with ${response.status}`)
    to.push(performance.now() - startedMs)
  }
  const list = [`/api/v1/orgs/${firstOrg}/squids/summaries`, { authorization: `token ${token}` }] as const
  // The first request of a new server loads code and opens connections.
  await timed(times.first, ...list)
  while (performance.now() < untilMs) {
    await timed(times.health, '/healthz')
    await timed(times.list, ...list)
    await delay(probeIntervalMs)
  }
  return { health: percentiles(times.health), list: percentiles(times.list) }
}

/** Measures the idle installation for `ms`. */
export async function measure(
  subject: Subject,
  versions: number,
  ms: number,
): Promise<Omit<Measurement, 'adoptionSeconds'>> {
  const { shoal, pool } = subject
  const wal = () => readNumber(pool, `pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')`)
  const loopsBefore = await readLoops(subject)
  const [tablesBefore, walBefore] = [await readTables(pool), await wal()]
  const [server, postgres] = [serverUsage(shoal.dataDir), postgresUsage(shoal.dataDir)]
  const startedMs = performance.now()
  const latencies = await probe(subject, startedMs + ms)
  const [serverAfter, postgresAfter] = [serverUsage(shoal.dataDir), postgresUsage(shoal.dataDir)]
  const seconds = (performance.now() - startedMs) / 1000
  const [loops, tables, walAfter] = [await loopTimes(subject, loopsBefore), await readTables(pool), await wal()]
  let [inserted, updated, bytes] = [0, 0, 0]
  for (const [name, table] of tables) {
    const rows = table.inserted - (tablesBefore.get(name)?.inserted ?? 0)
    inserted += rows
    updated += table.updated - (tablesBefore.get(name)?.updated ?? 0)
    bytes += rows * table.bytesPerRow
  }
  const perDay = (count: number) => (count / seconds) * secondsPerDay
  return {
    versions,
    serverMb: serverAfter.memoryMb,
    postgresMb: postgresAfter.memoryMb,
    serverCores: (serverAfter.cpuSeconds - server.cpuSeconds) / seconds,
    postgresCores: (postgresAfter.cpuSeconds - postgres.cpuSeconds) / seconds,
    connections: await readNumber(
      pool,
      `select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`,
    ),
    ...latencies,
    insertedRowsPerDay: perDay(inserted),
    updatedRowsPerDay: perDay(updated),
    insertedBytesPerDay: perDay(bytes),
    walBytesPerDay: perDay(walAfter - walBefore),
    loops,
  }
}

/** Waits until both programs of all versions have been running since `sinceMs`. Returns the seconds since then. @throws after the timeout */
export async function untilRunning(pool: Pool, versions: number, sinceMs: number, timeoutMs: number): Promise<number> {
  const startedMs = Date.now()
  while (Date.now() - startedMs < timeoutMs) {
    const running = await readNumber(
      pool,
      `select count(*) from container_states where state = 'running' and since >= to_timestamp(${sinceMs / 1000})`,
    )
    if (running >= 2 * versions) return (Date.now() - sinceMs) / 1000
    await delay(200)
  }
  throw new Error(`The programs of ${versions} versions did not run within ${timeoutMs / 1000} s`)
}
