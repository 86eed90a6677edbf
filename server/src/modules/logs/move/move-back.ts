import type { App } from '../../../app.ts'
import { deleteMoved, readLoggingSquids } from './copy-store.ts'
import { hasSeparateDatabase, verifyLogsDatabase } from './logs-database.ts'
import { copyVersion } from './move-version.ts'
import { oldestDay } from '../ingest/retention.ts'
import { deleteOwner, findMove, copyStateToControlPlane, tryIngestLock } from './state-store.ts'

/**
 * Moves the logs from their own database back to that of the control plane, while no server runs. Until the last step, their own database
 * stays the current one, and an interrupted move starts from the beginning. Returns `{versions}`.
 * @throws Error with what to do first; WrongLogsDatabase
 */
export async function moveLogsBack(app: App): Promise<{ versions: number }> {
  if (!hasSeparateDatabase(app))
    throw new Error('Set SHOAL_LOGS_DATABASE_URL to the database that the logs are in now.')
  const move = await findMove(app.db)
  if (!move) throw new Error('The logs are in the database of the control plane.')
  await verifyLogsDatabase(app)
  if (!move.isMoved)
    throw new Error(
      'Earlier lines are still being moved to their own database. Start a worker and wait until it has moved them.',
    )
  const source = await app.logsDatabase.pool.connect()
  const target = await app.database.pool.connect()
  try {
    if (!(await tryIngestLock(source)))
      throw new Error('A worker stores logs. Stop all servers of this installation first.')
    // Deletes what an interrupted move has copied.
    await deleteMoved(target)
    const squidIds = await readLoggingSquids(source)
    const options = { oldestAtMs: Date.parse(oldestDay(app)), signal: new AbortController().signal }
    for (const squidId of squidIds)
      await copyVersion(source, target, squidId, { ...options, afterBatch: () => Promise.resolve() })
    await copyStateToControlPlane(source, target)
    await deleteMoved(source)
    await deleteOwner(source)
    return { versions: squidIds.length }
  } finally {
    // Releases the lock and, after a failure, ends statements in progress.
    source.release(true)
    target.release(true)
  }
}
