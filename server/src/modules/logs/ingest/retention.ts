import type { App } from '../../../app.ts'
import { dayOf, days } from '../../../clock.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'
import { deleteStreamsOfDeletedSquids } from './deleted-versions-store.ts'
import { dropLinesBefore } from './ingest-store.ts'
import { deleteOrgUsageBefore } from './usage-store.ts'

/** Returns the first day whose lines are kept, such as `2026-01-31`. */
export const oldestDay = (app: Pick<App, 'clock' | 'config'>): string =>
  dayOf(app.clock.now().getTime() - days(app.config.SHOAL_LOG_RETENTION_DAYS))

/** Creates the partitions of today and tomorrow, and drops expired days and deleted versions. Returns the ids of these versions. Idempotent. */
export async function rotateDayPartitions(
  app: Pick<App, 'clock' | 'config' | 'db' | 'logsDatabase'>,
): Promise<number[]> {
  const client = await app.logsDatabase.pool.connect()
  try {
    const now = app.clock.now().getTime()
    for (const day of [dayOf(now), dayOf(now + days(1))]) await ensureDayPartition(client, 'log_lines', day)
    await dropLinesBefore(client, oldestDay(app))
    await deleteOrgUsageBefore(client, dayOf(now))
    return await deleteStreamsOfDeletedSquids(client, app.db)
  } finally {
    client.release()
  }
}
