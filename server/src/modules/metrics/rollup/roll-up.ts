import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { days, minutes } from '../../../clock.ts'
import { dayOf, ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { coarserLevels, keptDays, tableOf, type Family } from '../levels.ts'
import { lockRolledUntil, makeLevel, readRolledUntil, setRolledUntil } from './rollup-store.ts'

/** Counts of a minute may reach the database this late without counting as late. */
const flushMs = { container: 0, ingress: minutes(1) } as const satisfies Record<Family, number>

/**
 * Recomputes minutes, hours, days and months, each from the level below, from the last rolled-up time on. The current buckets are
 * recomputed each time, so that a reader finds everything in one level.
 */
export async function rollUp(app: Pick<App, 'clock' | 'config'>, client: ClientBase): Promise<void> {
  for (const family of ['container', 'ingress'] as const) await rollUpFamily(app, client, family)
}

async function rollUpFamily(app: Pick<App, 'clock' | 'config'>, client: ClientBase, family: Family): Promise<void> {
  const nowMs = app.clock.now().getTime()
  const read = await readRolledUntil(client, family)
  if (read === null) return
  const sinceMs = Math.max(read, oldestMs(app, family))
  await ensurePartitions(client, family, sinceMs, nowMs)
  await inTransaction(client, async () => {
    // Late counts that arrive now are left for the next run: the partitions of their days may not exist yet.
    if ((await lockRolledUntil(client, family, sinceMs)) < read) return
    for (const step of coarserLevels[family]) await makeLevel(client, family, step, sinceMs)
    await setRolledUntil(client, family, Math.floor((nowMs - flushMs[family]) / 60_000) * 60_000)
  })
}

/** Coarser levels must not be recomputed from what retention has left of the finest one. */
function oldestMs({ clock, config }: Pick<App, 'clock' | 'config'>, family: Family): number {
  const level = family === 'container' ? 'samples' : 'minutes'
  const nowMs = clock.now().getTime()
  return Date.parse(dayOf(nowMs - days(keptDays(config, level))))
}

async function ensurePartitions(client: ClientBase, family: Family, sinceMs: number, nowMs: number): Promise<void> {
  const partitioned = coarserLevels[family].flatMap(({ to }) => (to === 'minutes' || to === 'hours' ? [to] : []))
  for (const level of partitioned)
    for (let ms = sinceMs; dayOf(ms) <= dayOf(nowMs); ms += days(1))
      await ensureDayPartition(client, tableOf(family, level), dayOf(ms))
}
