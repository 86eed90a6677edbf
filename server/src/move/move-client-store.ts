// Reads the statistics of Postgres about its connections.

import { randomUUID } from 'node:crypto'
import { Client } from 'pg'

/** The name of all connections of this process, by which it distinguishes them from those of other processes. */
const ownName = `shoal move ${randomUUID()}`

/** Returns the URL with the name of this process' connections instead of its own name. */
export function withOwnName(url: string): string {
  const named = new URL(url)
  named.searchParams.set('application_name', ownName)
  return named.href
}

/** Make the text form of values independent of the settings of the server, and end no connection that holds locks during a long copy. */
const settings = {
  timezone: 'UTC',
  lc_monetary: 'C',
  extra_float_digits: '1',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
}

/** Connects to the database of a control plane as a client that its servers do not use. Statements have no time limit. */
export async function connectForMove(databaseUrl: string): Promise<Client> {
  const url = new URL(withOwnName(databaseUrl))
  // The options of a URL would replace those of the client.
  const ownOptions = url.searchParams.get('options') ?? ''
  url.searchParams.delete('options')
  const options = Object.entries(settings).map(([key, value]) => `-c ${key}=${value}`)
  const client = new Client({
    connectionString: url.href,
    keepAlive: true,
    // The connection is idle while the databases of squids are copied: routers on the way must not drop it.
    keepAliveInitialDelayMillis: 30_000,
    options: [ownOptions, ...options].join(' ').trim(),
  })
  // A broken connection rejects its query. Without a listener, its error would also end the process.
  client.on('error', () => {})
  await client.connect()
  // Exists only since Postgres 17.
  await client.query(`select set_config(name, '0', false) from pg_settings where name = 'transaction_timeout'`)
  return client
}

/** Returns the names of all connections of other processes to the database, such as those of a server. */
export async function otherClients(client: Client): Promise<string[]> {
  // Postgres hides the type and the name of connections of other roles from roles without the right to read all statistics.
  const { rows } = await client.query<{ name: string }>(
    `select distinct coalesce(nullif(application_name, ''), 'of the role ' || usename, 'without a name') || coalesce(' at ' || host(client_addr), '') as name
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       and (backend_type = 'client backend' or backend_type is null and usesysid is not null)
       and application_name is distinct from $1 order by 1`,
    [ownName],
  )
  return rows.map(({ name }) => name)
}
