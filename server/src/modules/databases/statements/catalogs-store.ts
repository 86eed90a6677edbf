import { escapeIdentifier } from 'pg'
import type { Database } from '../../../db/database.ts'
import { runUnblocked } from '../blockers-store.ts'
import { enforcedSettings } from '../database-config.ts'
import { setRoleSettings } from '../database-store.ts'

const ident = escapeIdentifier

/** The catalogs that all databases of a Postgres share, and to which tenants can write values of any size. */
const catalogs = ['pg_db_role_setting', 'pg_shdescription']

/** Returns the size on the disk of the shared catalogs to which tenants can write values of any size. */
export async function catalogBytes(cluster: Database): Promise<number> {
  const { rows } = await cluster.pool.query<{ bytes: number }>(
    'select sum(pg_total_relation_size(name))::float8 as bytes from unnest($1::text[]::regclass[]) name',
    [catalogs],
  )
  return rows[0]?.bytes ?? 0
}

/** A value in a shared catalog: settings of a role, of a database, or of both, or the comment on a database. */
export type CatalogEntry = { role: string | null; database: string | null; isComment: boolean; bytes: number }

/** Returns the values of roles or databases with this prefix. Does not read the values themselves. */
export async function catalogEntries(cluster: Database, prefix: string): Promise<CatalogEntry[]> {
  const { rows } = await cluster.pool.query<CatalogEntry>(
    `select rolname as role, datname as database, false as "isComment", pg_column_size(setconfig) as bytes
       from pg_db_role_setting left join pg_roles r on r.oid = setrole left join pg_database d on d.oid = setdatabase
       where starts_with(coalesce(rolname, datname), $1)
     union all
     select null, datname, true, pg_column_size(description)
       from pg_shdescription join pg_database d on d.oid = objoid
       where classoid = 'pg_database'::regclass and starts_with(datname, $1)`,
    [prefix],
  )
  return rows
}

/** Returns the roles with this prefix whose sessions have written to these catalogs in a transaction that is still open. */
export async function catalogWriters(cluster: Database, prefix: string): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ role: string }>(
    `select distinct usename as role from pg_locks join pg_stat_activity using (pid)
     where locktype = 'relation' and pg_locks.database = 0 and relation = any($1::text[]::regclass[])
       and mode = 'RowExclusiveLock' and starts_with(usename, $2)`,
    [catalogs, prefix],
  )
  return rows.map(({ role }) => role)
}

/** Deletes a value. Keeps the settings of a role that Shoal has set. */
export async function deleteEntry(cluster: Database, { role, database, isComment }: CatalogEntry): Promise<void> {
  if (isComment) return await runUnblocked(cluster, `comment on database ${ident(database ?? '')} is null`)
  if (role === null) return await runUnblocked(cluster, `alter database ${ident(database ?? '')} reset all`)
  if (database !== null)
    return await runUnblocked(cluster, `alter role ${ident(role)} in database ${ident(database)} reset all`)
  const { rows } = await cluster.pool.query<{ name: string; value: string }>(
    `select split_part(setting, '=', 1) as name, substr(setting, strpos(setting, '=') + 1) as value
     from pg_roles, unnest(rolconfig) setting where rolname = $1 and split_part(setting, '=', 1) = any($2)`,
    [role, enforcedSettings],
  )
  await setRoleSettings(cluster, role, Object.fromEntries(rows.map(({ name, value }) => [name, value])))
}

/** Frees the space of deleted values. Postgres skips catalogs that Shoal's role may not vacuum. */
export async function vacuumCatalogs(cluster: Database): Promise<void> {
  for (const name of catalogs) await cluster.pool.query(`vacuum ${name}`)
}
