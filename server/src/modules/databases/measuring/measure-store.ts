// Reads tables of other modules: squids. Skips hibernated versions, whose databases do not grow.

import { escapeIdentifier } from 'pg'
import { and, eq, isNull, ne, or } from '../../../db/sql.ts'
import type { Database, Db } from '../../../db/database.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { needsSuperuser, type SquidDatabaseRow } from '../database-store.ts'
import { squidDatabases } from '../tables.ts'
import { squids } from '../../versions/index.ts'
import { ownerWhileFull } from './writers-store.ts'
import { runUnblocked } from '../blockers-store.ts'

/** The columns of a database that measuring it and limiting its size need. */
export type MeasurableDatabase = Pick<
  SquidDatabaseRow,
  | 'squidId'
  | 'server'
  | 'database'
  | 'role'
  | 'readRole'
  | 'totalBytes'
  | 'usedBytes'
  | 'maxExternalConnections'
  | 'profile'
>

/** Returns the databases on the server whose size may have changed; skips hibernated versions that have been measured. */
export function selectMeasurable(db: Db, onServer: string): Promise<MeasurableDatabase[]> {
  const { squidId, server, database, role, readRole, totalBytes, usedBytes, maxExternalConnections, profile } =
    squidDatabases
  return db
    .select({ squidId, server, database, role, readRole, totalBytes, usedBytes, maxExternalConnections, profile })
    .from(squidDatabases)
    .innerJoin(squids, eq(squids.id, squidId))
    .where(and(eq(server, onServer), or(ne(squids.desiredState, 'hibernated'), isNull(usedBytes))))
}

/** Saves the measured size of the version's database, and when it was measured. */
export async function saveUsedBytes(db: Db, squidId: number, usedBytes: number, at: Date): Promise<void> {
  await db.update(squidDatabases).set({ usedBytes, measuredAt: at }).where(eq(squidDatabases.squidId, squidId))
}

/** The measured size of a database, and how its owner is restricted now. */
export type DatabaseMeasurement = {
  database: string
  usedBytes: number
  /** Whether write access to the database is revoked. */
  isFull: boolean
  /** Whether the role of the version's programs may log in. */
  canLogin: boolean
  /** Whether an earlier release of Shoal restricted the owner to read-only transactions. */
  hasOldLimit: boolean
}

type Measured = Pick<MeasurableDatabase, 'database' | 'role'>

/**
 * Measures the size of databases on disk, and reads whether they are restricted. `onFailure` is called for each database that cannot
 * be measured; without it, the error is thrown.
 * @throws DatabaseUnavailable
 */
export async function measureDatabases<T extends Measured>(
  cluster: Database,
  databases: T[],
  onFailure?: (row: T, error: unknown) => void,
): Promise<DatabaseMeasurement[]> {
  try {
    return await measure(cluster, databases)
  } catch (error) {
    if (isUnavailable(error)) throw error
  }
  // A tenant that makes measuring its database fail must not prevent Shoal from measuring others.
  const measurements: DatabaseMeasurement[] = []
  for (const row of databases)
    try {
      measurements.push(...(await measureAgain(cluster, row)))
    } catch (error) {
      if (!onFailure || isUnavailable(error)) throw error
      onFailure(row, error)
    }
  return measurements
}

/** Measures a database. If its tenant has revoked the privilege that Shoal's role needs, grants it again. */
async function measureAgain(cluster: Database, row: Measured): Promise<DatabaseMeasurement[]> {
  try {
    return await measure(cluster, [row])
  } catch (error) {
    if (!needsSuperuser(error)) throw error
    await runUnblocked(cluster, `grant connect on database ${escapeIdentifier(row.database)} to current_user`)
    return await measure(cluster, [row])
  }
}

async function measure(cluster: Database, databases: Measured[]): Promise<DatabaseMeasurement[]> {
  const { rows } = await cluster.pool.query<DatabaseMeasurement>(
    `select datname as database, pg_database_size(pg_database.oid) as "usedBytes",
       exists (select from pg_roles where rolname = full_owner) as "isFull", rolcanlogin as "canLogin",
       coalesce('default_transaction_read_only=on' = any(rolconfig), false) as "hasOldLimit"
     from unnest($1::text[], $2::text[], $3::text[]) as requested (name, owner, full_owner)
     join pg_database on datname = name join pg_roles on rolname = owner`,
    [
      databases.map((row) => row.database),
      databases.map((row) => row.role),
      databases.map((row) => ownerWhileFull(row.role)),
    ],
  )
  return rows
}

/** Removes the read-only setting with which an earlier release of Shoal restricted full databases. */
export async function removeOldLimit(cluster: Database, role: string): Promise<void> {
  await runUnblocked(cluster, `alter role ${escapeIdentifier(role)} reset default_transaction_read_only`)
}
