import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { hours } from '../../../clock.ts'
import { every, pause } from '../../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../../db/leases.ts'
import { deleteStreamsOfDeletedSquids } from '../ingest/deleted-versions-store.ts'
import { dropLinesBefore } from '../ingest/ingest-store.ts'
import { oldestDay } from '../ingest/retention.ts'
import { deleteMoved, readLoggingSquids } from './copy-store.ts'
import { hasSeparateDatabase } from './logs-database.ts'
import { moveVersion } from './move-version.ts'
import { findMove, setMoved } from './state-store.ts'

type MoveApp = Pick<App, 'clock' | 'config' | 'db' | 'database' | 'logsDatabase' | 'log'>

/** How often to check whether new lines go to the separate database of logs, which is when earlier lines can be moved. */
const checkIntervalMs = 1_000

/**
 * Moves earlier lines to the separate database of logs, in one process at a time and slowly enough that new lines are
 * stored without delay.
 */
export function startLogsMove(app: MoveApp): LeaderHandle {
  if (!hasSeparateDatabase(app)) return { close: () => Promise.resolve() }
  return runAsLeader(app.logsDatabase, app.log, 'logs-move', async (target, signal) => {
    const onError = (error: unknown) => {
      // Ends the leadership, because the connections of the move may be unusable.
      throw error
    }
    await every(signal, { ms: checkIntervalMs, onError }, async () => {
      const move = await findMove(app.db)
      if (move && !move.isMoved) await moveAll(app, target, signal)
      if (move) await pause(hours(1), signal)
    })
  })
}

async function moveAll(app: MoveApp, target: ClientBase, signal: AbortSignal): Promise<void> {
  const source = await app.database.pool.connect()
  // Until all lines are moved: after a failure, the connection may be in the middle of a statement and must be closed.
  let mustClose = true
  try {
    await dropLinesBefore(source, oldestDay(app))
    await deleteStreamsOfDeletedSquids(source, app.db)
    const squidIds = await readLoggingSquids(source)
    if (squidIds.length > 0) app.log.info({ versions: squidIds.length }, 'moving logs to their own database')
    for (const squidId of squidIds) {
      const options = { oldestAtMs: Date.parse(oldestDay(app)), signal, afterBatch: (ms: number) => pause(ms, signal) }
      if (!(await moveVersion(source, target, squidId, options))) return
    }
    await deleteMoved(source)
    await setMoved(source)
    app.log.info('all logs are in their own database')
    mustClose = false
  } finally {
    source.release(mustClose)
  }
}
