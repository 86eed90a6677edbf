import type { ClientBase } from 'pg'
import type { App } from '../../../app.ts'
import { dayOf, days } from '../../../clock.ts'
import { dropDayPartitionsBefore, ensureDayPartition } from '../../../db/day-partitions.ts'
import { retentionDays, tableOf } from '../levels.ts'
import { deleteBefore } from './rollup-store.ts'

const partitionedTables = [
  ['container', 'samples'],
  ['container', 'minutes'],
  ['container', 'hours'],
  ['ingress', 'minutes'],
  ['ingress', 'hours'],
] as const

/** Creates the partitions of today and tomorrow, and drops those of expired days. Idempotent. */
export async function applyRetention(
  { clock, config }: Pick<App, 'clock' | 'config'>,
  client: ClientBase,
): Promise<void> {
  const nowMs = clock.now().getTime()
  for (const [family, level] of partitionedTables) {
    const table = tableOf(family, level)
    for (const day of [dayOf(nowMs), dayOf(nowMs + days(1))]) await ensureDayPartition(client, table, day)
    await dropDayPartitionsBefore(client, table, dayOf(nowMs - days(retentionDays(config, level))))
  }
  for (const level of ['days', 'months'] as const) {
    const oldest = dayOf(nowMs - days(retentionDays(config, level)))
    for (const family of ['container', 'ingress'] as const) await deleteBefore(client, family, level, oldest)
  }
}
