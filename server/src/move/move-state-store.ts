import type { Client } from 'pg'
import type { MoveMark } from '../installation/move-mark-store.ts'
import { readContents } from './control-plane-store.ts'

/** What a database of the control plane contains. `prefix`: identifies the installation; null: none. */
export type SideState = {
  isEmpty: boolean
  prefix: string | null
  mark: Pick<MoveMark, 'id' | 'state' | 'other' | 'details'> | null
}

/** Reads what a database of the control plane contains, whether or not Shoal has migrated it. */
export async function readSideState(client: Client): Promise<SideState> {
  const { rows: found } = await client.query<{ prefix: string | null; mark: string | null }>(
    `select to_regclass('public.installation')::text as prefix, to_regclass('public.installation_move')::text as mark`,
  )
  const { rows: prefixes } = found[0]?.prefix
    ? await client.query<{ prefix: string }>('select prefix from public.installation')
    : { rows: [] }
  const { rows: marks } = found[0]?.mark
    ? await client.query<NonNullable<SideState['mark']>>(
        'select id, state, other, details from public.installation_move',
      )
    : { rows: [] }
  const { rows } = await readContents(client)
  return { isEmpty: rows === 0 && marks.length === 0, prefix: prefixes[0]?.prefix ?? null, mark: marks[0] ?? null }
}

/** Returns the version number of a Postgres, and what its role may do. */
export async function readRights(
  client: Pick<Client, 'query'>,
): Promise<{ version: number; mayCreateDatabases: boolean; mayCreateRoles: boolean }> {
  const { rows } = await client.query<{ version: number; mayCreateDatabases: boolean; mayCreateRoles: boolean }>(
    `select current_setting('server_version_num')::int / 10000 as version, rolsuper or rolcreatedb as "mayCreateDatabases",
       rolsuper or rolcreaterole as "mayCreateRoles" from pg_roles where rolname = current_user`,
  )
  if (!rows[0]) throw new Error('Postgres returned no row')
  return rows[0]
}

/** Returns the size of a database, in bytes. */
export async function readSize(client: Pick<Client, 'query'>, database: string): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    'select pg_database_size(oid)::float8 as bytes from pg_database where datname = $1',
    [database],
  )
  return rows[0]?.bytes ?? 0
}
