import { Client, escapeIdentifier } from 'pg'
import type { Database } from '../../db/database.ts'
import { withoutBlockers } from './blockers-store.ts'

/**
 * Settings of Shoal's connections to the databases of tenants. A tenant may create functions and operators in its database, and
 * may set defaults for all connections to it (`alter database … set`). The settings with which a connection starts override those
 * defaults. Without these settings, Shoal's statements would call the tenant's functions, or would fail.
 */
const safeSettings: Record<string, string> = {
  search_path: 'pg_catalog,pg_temp',
  role: 'none',
  default_transaction_read_only: 'off',
  default_transaction_isolation: 'read\\ committed',
  statement_timeout: '0',
  // A tenant may hold locks on its tables and schemas for any length of time.
  lock_timeout: '30s',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  row_security: 'off',
  standard_conforming_strings: 'on',
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
}
/** Settings that exist only in this major version of Postgres and newer ones. */
const newerSettings: [major: number, key: string, value: string][] = [[17, 'transaction_timeout', '0']]

const connectTimeoutMs = 10_000

/** A connection to the database of a tenant: the database, the role, and the name that `pg_stat_activity` shows. */
export type TenantLogin = {
  database: string
  /** Default: Shoal's role. */
  as?: { role: string; password: string }
  applicationName: string
}

/**
 * Opens a connection to the database of a tenant. The caller must end the connection. Neither the objects nor the settings in the
 * database affect Shoal's statements.
 */
export async function connectToTenant(
  cluster: Database,
  { database, as, applicationName }: TenantLogin,
): Promise<Client> {
  const url = new URL(cluster.url)
  url.pathname = `/${encodeURIComponent(database)}`
  if (as) Object.assign(url, { username: encodeURIComponent(as.role), password: encodeURIComponent(as.password) })
  const ownOptions = url.searchParams.get('options')
  url.searchParams.delete('options')
  const client = new Client({
    connectionString: url.href,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    // Statements such as those of a copy have no time limit. If the host of the server vanishes, keepalive ends them.
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    options: [ownOptions ?? '', await startOptions(cluster)].join(' ').trim(),
  })
  // A broken connection rejects its query. Without a listener, its error would also end the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

/**
 * Runs `work` with a connection to the database `name`, as Shoal's role. Ends the sessions of tenants that hold a lock for which a
 * statement waits.
 */
export async function withClient<T>(cluster: Database, name: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connectToTenant(cluster, { database: name, applicationName: 'shoal' })
  try {
    return await withoutBlockers(cluster, client, () => work(client))
  } finally {
    await client.end()
  }
}

/** Returns the major version of the connected Postgres. */
export async function postgresMajor(connection: Pick<Client, 'query'>): Promise<number> {
  const { rows } = await connection.query<{ major: number }>(
    `select current_setting('server_version_num')::int / 10000 as major`,
  )
  if (!rows[0]) throw new Error('Postgres returned no row')
  return rows[0].major
}

async function startOptions(cluster: Database): Promise<string> {
  const major = await postgresMajor(cluster.pool)
  const newer = newerSettings.filter(([from]) => major >= from).map(([, key, value]): [string, string] => [key, value])
  return [...Object.entries(safeSettings), ...newer].map(([key, value]) => `-c ${key}=${value}`).join(' ')
}

/**
 * Revokes the privileges that a role has in other databases, whose tenants may grant privileges to any role. Postgres does not
 * drop a role that has privileges.
 */
export async function revokePrivilegesElsewhere(cluster: Database, role: string, ownDatabase: string): Promise<void> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select distinct coalesce(d.datname, current_database()) as name
     from pg_shdepend s join pg_roles r on r.oid = s.refobjid left join pg_database d on d.oid = s.dbid
     where s.refclassid = 'pg_authid'::regclass and s.deptype = 'a' and r.rolname = $1 and d.datname is distinct from $2`,
    [role, ownDatabase],
  )
  for (const { name } of rows)
    await withClient(cluster, name, (client) => client.query(`drop owned by ${escapeIdentifier(role)}`))
}
