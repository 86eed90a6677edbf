import type { Db } from '../db/database.ts'
import { sql } from '../db/sql.ts'
import { installationMove, type MoveDetails } from './tables.ts'

export type MoveMark = typeof installationMove.$inferSelect

/** Returns the last move of the installation to or from another database; null if it was never moved. */
export async function selectMoveMark(db: Db): Promise<MoveMark | null> {
  const [mark] = await db.select().from(installationMove)
  return mark ?? null
}

/** Records that the installation is in this database now. */
export async function markArrived(tx: Db, at: Date): Promise<void> {
  await tx.update(installationMove).set({ state: 'arrived', changedAt: at })
}

/** Records that all versions have been started again. Returns false if another worker has recorded it. */
export async function markResumed(db: Db, at: Date): Promise<boolean> {
  const { rowCount } = await db
    .update(installationMove)
    .set({ resumedAt: at })
    .where(sql`${installationMove.resumedAt} is null`)
  return rowCount !== 0
}

/** The mark of a database as the command writes it, in the transaction with which it reads or writes all rows. */
export type NewMark = { id: string; state: 'departed' | 'copied'; other: string; details: MoveDetails; stoppedAt: Date }

/** Replaces the mark in the open transaction of this connection. */
export async function writeMark(
  client: { query: (text: string, values?: unknown[]) => Promise<unknown> },
  { id, state, other, details, stoppedAt }: NewMark,
): Promise<void> {
  await client.query('delete from public.installation_move')
  await client.query(
    `insert into public.installation_move (id, state, other, details, stopped_at, changed_at) values ($1, $2, $3, $4, $5, clock_timestamp())`,
    [id, state, other, JSON.stringify(details), stoppedAt],
  )
}
