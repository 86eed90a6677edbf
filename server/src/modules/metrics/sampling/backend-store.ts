import type { Database } from '../../../db/database.ts'

/** A Postgres process that serves one connection. */
export type Backend = { pid: number; database: string }

export async function backendsOf(cluster: Database, databases: string[]): Promise<Backend[]> {
  const { rows } = await cluster.pool.query<Backend>(
    'select pid, datname as database from pg_stat_activity where datname = any($1::text[])',
    [databases],
  )
  return rows
}

/** The process of the current connection. */
export async function ownBackend(cluster: Database): Promise<Backend & { startedMs: number }> {
  const { rows } = await cluster.pool.query<Backend & { startedMs: number }>(
    `select pid, datname as database, (extract(epoch from backend_start) * 1000)::float8 as "startedMs"
     from pg_stat_activity where pid = pg_backend_pid()`,
  )
  const [own] = rows
  if (!own) throw new Error('Postgres does not list the current connection')
  return own
}
