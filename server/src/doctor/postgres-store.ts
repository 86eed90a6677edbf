// Reads the state of the whole server, and no tables.

import pg from 'pg'

/** The state of a Postgres server. `offsetMs`: its clock minus the clock of this host. */
export type PostgresServerState = {
  version: string
  versionNumber: number
  connections: number
  maxConnections: number
  mayCreateDatabases: boolean
  offsetMs: number
}

/** Reads the state of a Postgres server. @throws Error if it does not respond within five seconds */
export async function readPostgres(url: string, nowMs: () => number): Promise<PostgresServerState> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 5_000 })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<Omit<PostgresServerState, 'offsetMs'> & { atMs: number }>(`
      select current_setting('server_version') as version,
        current_setting('server_version_num')::int as "versionNumber",
        (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
        current_setting('max_connections')::int as "maxConnections",
        (select rolsuper or (rolcreatedb and rolcreaterole) from pg_roles where rolname = current_user) as "mayCreateDatabases",
        (extract(epoch from clock_timestamp()) * 1000)::float8 as "atMs"`)
    const [row] = rows
    if (!row) throw new Error('Postgres returned no row')
    const { atMs, ...state } = row
    return { ...state, offsetMs: atMs - nowMs() }
  } finally {
    await client.end().catch(() => undefined)
  }
}
