import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { dayOf, days, minutes } from '../../../clock.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { coarserLevels, retentionDays, tableOf, type Family } from '../levels.ts'
import { lockRolledUntil, recomputeLevel, readRolledUntil, setRolledUntil } from './rollup-store.ts'

/** The usual maximum delay until the counts of a minute are in the database. */
const maxFlushDelayMs = { container: 0, ingress: minutes(1) } as const satisfies Record<Family, number>

/**
 * Recomputes minutes, hours, days and months, each from the next finer level, from the last rolled-up time on. The current buckets are
 * recomputed each time, so that readers find all data in one level.
 */
export async function rollUp(app: Pick<App, 'clock' | 'config'>, client: ClientBase): Promise<void> {
  for (const family of ['container', 'ingress'] as const) await rollUpFamily(app, client, family)
}

async function rollUpFamily(app: Pick<App, 'clock' | 'config'>, client: ClientBase, family: Family): Promise<void> {
  const nowMs = app.clock.now().getTime()
  const rolledUntilMs = await readRolledUntil(client, family)
  if (rolledUntilMs === null) return
  const sinceMs = Math.max(rolledUntilMs, oldestKeptMs(app, family))
  await ensurePartitions(client, family, sinceMs, nowMs)
  await inTransaction(client, async () => {
    // If late counts have just arrived, the next roll-up includes them, because the partitions of their days may not exist yet.
    if ((await lockRolledUntil(client, family, sinceMs)) < rolledUntilMs) return
    for (const step of coarserLevels[family]) await recomputeLevel(client, family, step, sinceMs)
    await setRolledUntil(client, family, Math.floor((nowMs - maxFlushDelayMs[family]) / 60_000) * 60_000)
  })
}

/** Returns the time from which the finest level is complete. Coarser levels must not be recomputed from partly expired data. */
function oldestKeptMs({ clock, config }: Pick<App, 'clock' | 'config'>, family: Family): number {
  const level = family === 'container' ? 'samples' : 'minutes'
  const nowMs = clock.now().getTime()
  return Date.parse(dayOf(nowMs - days(retentionDays(config, level))))
}

async function ensurePartitions(client: ClientBase, family: Family, sinceMs: number, nowMs: number): Promise<void> {
  const partitioned = coarserLevels[family].flatMap(({ to }) => (to === 'minutes' || to === 'hours' ? [to] : []))
  for (const level of partitioned)
    for (let ms = sinceMs; dayOf(ms) <= dayOf(nowMs); ms += days(1))
      await ensureDayPartition(client, tableOf(family, level), dayOf(ms))
}
