import { escapeIdentifier, escapeLiteral } from 'pg'
import type { Database } from '../../db/database.ts'
import { runUnblocked } from './blockers-store.ts'
import { temporaryFileLimit } from './database-config.ts'
import { needsSuperuser, type SquidDatabaseRow } from './database-store.ts'

type Limited = Pick<SquidDatabaseRow, 'role' | 'readRole' | 'totalBytes' | 'maxConnections' | 'maxExternalConnections'>

/**
 * Limits the temporary files of the owner and of the reader, for new connections. All connections of each role together may write twice
 * the storage of the database. Returns false in an external Postgres where Shoal's role may not set such limits.
 */
export async function limitTemporaryFiles(cluster: Database, row: Limited): Promise<boolean> {
  const isAllowed = await setLimit(
    cluster,
    row.role,
    temporaryFileLimit(row.totalBytes, Math.max(1, row.maxConnections)),
  )
  if (!isAllowed) return false
  return await setLimit(
    cluster,
    row.readRole,
    temporaryFileLimit(row.totalBytes, Math.max(1, row.maxExternalConnections)),
  )
}

async function setLimit(cluster: Database, role: string, limit: string): Promise<boolean> {
  try {
    await runUnblocked(cluster, `alter role ${escapeIdentifier(role)} set temp_file_limit = ${escapeLiteral(limit)}`)
    return true
  } catch (error) {
    if (!needsSuperuser(error)) throw error
    return false
  }
}

/** Returns the rows with a role whose temporary files have no limit, for example because an earlier release created it. */
export async function withoutTemporaryFileLimit<Row extends Limited>(cluster: Database, rows: Row[]): Promise<Row[]> {
  const result = await cluster.pool.query<{ name: string }>(
    `select rolname as name from pg_roles
     where rolname = any($1) and not exists (
       select from unnest(rolconfig) as setting where starts_with(setting, 'temp_file_limit='))`,
    [rows.flatMap(({ role, readRole }) => [role, readRole])],
  )
  const names = new Set(result.rows.map(({ name }) => name))
  return rows.filter(({ role, readRole }) => names.has(role) || names.has(readRole))
}
