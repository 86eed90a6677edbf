import type { ClientBase, Pool } from 'pg'
import type { Db } from '../../../db/database.ts'
import { previousRelease } from '../../../db/migrate.ts'
import { sql } from '../../../db/sql.ts'
import { inTransaction } from '../../../db/transaction.ts'

/** The move of the logs of this installation to their own database. */
export type Move = { id: string; isMoved: boolean }

/** Returns null while the logs are in the database of the control plane. */
export async function findMove(db: Db): Promise<Move | null> {
  const { rows } = await db.execute<Move>(sql`select id, moved_at is not null as "isMoved" from log_databases`)
  return rows[0] ?? null
}

/** Returns the number of versions with lines in the database of the control plane. */
export async function countLogsToMove(db: Db): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(sql`select count(*)::int as count from log_streams`)
  return rows[0]?.count ?? 0
}

/** How a database of logs identifies itself. `isAdopted`: it has the numbers and positions after which new lines continue. */
export type Owner = { installation: string; id: string; isAdopted: boolean }

/** Returns the owner of a database of logs, null without one, and whether the database is that of a control plane instead. */
export async function inspectDatabase(
  pool: Pick<Pool, 'query'>,
): Promise<{ isControlPlane: boolean; owner: Owner | null }> {
  const { rows } = await pool.query<{ isControlPlane: boolean; hasOwner: boolean }>(
    `select to_regclass('installation') is not null as "isControlPlane", to_regclass('log_owner') is not null as "hasOwner"`,
  )
  const [found] = rows
  return { isControlPlane: found?.isControlPlane === true, owner: found?.hasOwner ? await readOwner(pool) : null }
}

async function readOwner(pool: Pick<Pool, 'query'>): Promise<Owner | null> {
  const { rows } = await pool.query<Owner>(
    'select installation, id, adopted_at is not null as "isAdopted" from log_owner',
  )
  return rows[0] ?? null
}

/** Makes the installation the owner of an unowned database of logs. Returns its owner. */
export async function claimDatabase(client: ClientBase, installation: string): Promise<Owner | null> {
  await client.query(
    `insert into log_owner (installation, id) select $1, gen_random_uuid() where not exists (select from log_owner)`,
    [installation],
  )
  return await readOwner(client)
}

/**
 * Makes the control plane refuse log lines: after the commit, no process of this or an earlier release can store lines there. Waits for
 * transactions that store lines. Idempotent.
 */
export async function stopLogsInControlPlane(client: ClientBase, id: string): Promise<void> {
  await inTransaction(client, async () => {
    await client.query('lock table log_streams in share row exclusive mode')
    await client.query('insert into log_databases (id) select $1 where not exists (select from log_databases)', [id])
    await client.query('update shoal_migrations set needs = name where name = $1', [firstMigration])
  })
}

/** Releases without this migration do not support the setting. */
const firstMigration = '0034_logs_database.sql'

/** Records that all earlier lines were moved. */
export async function setMoved(client: ClientBase): Promise<void> {
  await client.query('update log_databases set moved_at = now()')
}

/** The numbers, positions, usage and dropped lines after which new lines continue. */
const stateTables = ['log_cursors', 'log_streams', 'log_org_usage', 'log_drops', 'log_notices'] as const

/** Makes a separate database ready for new lines, in one transaction. */
export async function copyStateToSeparateDatabase(source: ClientBase, target: ClientBase): Promise<void> {
  await inTransaction(target, async () => {
    await copyState(source, target)
    await target.query('update log_owner set adopted_at = now()')
  })
}

/** Makes the control plane ready for new lines, for this and the previous release, in one transaction. */
export async function copyStateToControlPlane(source: ClientBase, controlPlane: ClientBase): Promise<void> {
  await inTransaction(controlPlane, async () => {
    await controlPlane.query('delete from log_databases')
    await copyState(source, controlPlane)
    await controlPlane.query('update shoal_migrations set needs = $2 where name = $1', [
      firstMigration,
      previousRelease.newestMigration,
    ])
  })
}

/** Copies the state after which new lines continue. Marks earlier lines as indexed, so that new blocks begin after them. */
async function copyState(source: ClientBase, target: ClientBase): Promise<void> {
  for (const table of stateTables) {
    const { rows } = await source.query<{ rows: string }>(
      `select coalesce(json_agg(t), '[]')::text as rows from ${table} t`,
    )
    await target.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`, [
      rows[0]?.rows,
    ])
  }
  await target.query('update log_streams set indexed_seq = last_seq')
}

/** Acquires the lock of the ingestor until the connection ends. Returns false while a worker holds it. */
export async function tryIngestLock(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ isLocked: boolean }>(
    `select pg_try_advisory_lock(hashtextextended('shoal:log-ingest', 0)) as "isLocked"`,
  )
  return rows[0]?.isLocked === true
}

/** Deletes what marks a database as the database of logs of an installation, so that any installation can use it again. */
export async function deleteOwner(client: ClientBase): Promise<void> {
  await client.query('delete from log_streams')
  await client.query('delete from log_owner')
}
