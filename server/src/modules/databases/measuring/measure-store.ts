// Reads tables of other modules: squids. Skips databases of hibernated versions.

import { eq, isNull, ne, or } from 'drizzle-orm'
import { escapeIdentifier } from 'pg'
import type { Database, Db } from '../../../db/database.ts'
import { squidDatabases } from '../tables.ts'
import { squids } from '../../versions/index.ts'

export type Measurable = {
  squidId: number
  database: string
  role: string
  totalBytes: number
  usedBytes: number | null
}

/** Databases whose size may have changed: hibernated versions are skipped once they were measured. */
export function selectMeasurable(db: Db): Promise<Measurable[]> {
  const { squidId, database, role, totalBytes, usedBytes } = squidDatabases
  return db
    .select({ squidId, database, role, totalBytes, usedBytes })
    .from(squidDatabases)
    .innerJoin(squids, eq(squids.id, squidId))
    .where(or(ne(squids.wanted, 'hibernated'), isNull(usedBytes)))
}

export async function saveUsedBytes(db: Db, squidId: number, usedBytes: number, at: Date): Promise<void> {
  await db.update(squidDatabases).set({ usedBytes, measuredAt: at }).where(eq(squidDatabases.squidId, squidId))
}

export type Measured = { database: string; usedBytes: number; isReadOnly: boolean }

/** Sizes on disk, and whether the owner was made read-only. */
export async function measureDatabases(cluster: Database, owned: Measurable[]): Promise<Measured[]> {
  const { rows } = await cluster.pool.query<Measured>(
    `select datname as database, pg_database_size(pg_database.oid) as "usedBytes",
       coalesce('default_transaction_read_only=on' = any(rolconfig), false) as "isReadOnly"
     from unnest($1::text[], $2::text[]) as wanted (name, owner)
     join pg_database on datname = name join pg_roles on rolname = owner`,
    [owned.map((row) => row.database), owned.map((row) => row.role)],
  )
  return rows
}

/** Makes the owner read-only, or writable again. Takes effect on new connections, so the open ones are terminated. */
export async function setReadOnly(cluster: Database, role: string, isReadOnly: boolean): Promise<void> {
  const owner = escapeIdentifier(role)
  await cluster.pool.query(
    `alter role ${owner} ${isReadOnly ? 'set' : 'reset'} default_transaction_read_only${isReadOnly ? ' = on' : ''}`,
  )
  await cluster.pool.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
}
