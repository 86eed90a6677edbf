import type { TimeGroup } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { levelOfGroup, tableOf } from '../levels.ts'
import type { Range } from '../range.ts'

export const timeOf = (ms: number) => sql`to_timestamp(${ms}::float8 / 1000)`
export const atMs = sql`(extract(epoch from at) * 1000)::float8 as "atMs"`

/** Usage of one container in one bucket. Means are over the observed time; null: unknown. */
export type UsedBucket = {
  atMs: number
  container: string
  cpuCores: number | null
  cpuLimitCores: number | null
  memoryBytes: number | null
  memoryLimitBytes: number | null
  diskUsedBytes: number | null
  diskTotalBytes: number | null
}

export async function selectUsage(
  db: Db,
  squidId: number,
  { fromMs, toMs }: Range,
  group: TimeGroup,
): Promise<UsedBucket[]> {
  const { rows } = await db.execute<UsedBucket>(
    sql`select ${atMs}, container, cpu_seconds / nullif(observed_seconds, 0) as "cpuCores",
          cpu_limit_seconds / nullif(observed_seconds, 0) as "cpuLimitCores",
          memory_byte_seconds / nullif(observed_seconds, 0) as "memoryBytes", memory_limit_bytes as "memoryLimitBytes",
          disk_used_bytes as "diskUsedBytes", disk_total_bytes as "diskTotalBytes"
        from ${sql.identifier(tableOf('container', levelOfGroup[group]))}
        where squid_id = ${squidId} and at >= ${timeOf(fromMs)} and at < ${timeOf(toMs)} order by at`,
  )
  return rows
}
