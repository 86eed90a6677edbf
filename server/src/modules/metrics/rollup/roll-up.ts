import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { days, minutes } from '../../../clock.ts'
import { dayOf, ensureDayPartition } from '../../../db/day-partitions.ts'
import { inTransaction } from '../../../db/transaction.ts'
import { coarserLevels, keptDays, tableOf, type Family } from '../levels.ts'
import { lockRolledUntil, makeLevel, readRolledUntil, setRolledUntil } from './rollup-store.ts'

/** Counts of a minute may reach the database this much later without being taken for late. */
const flushMs = { container: 0, ingress: minutes(1) } as const satisfies Record<Family, number>

/**
 * Makes minutes, hours, days and months anew, each from the level below, from where they were last made on. The buckets of now
 * are made too and again each time, so that a reader finds all there is to know in one level.
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
    // What came late meanwhile is for the next time: there may be no room for its days yet.
    if ((await lockRolledUntil(client, family, sinceMs)) < read) return
    for (const step of coarserLevels[family]) await makeLevel(client, family, step, sinceMs)
    await setRolledUntil(client, family, Math.floor((nowMs - flushMs[family]) / 60_000) * 60_000)
  })
}

/** Longer levels must not be made from what retention has left of the finest one. */
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
