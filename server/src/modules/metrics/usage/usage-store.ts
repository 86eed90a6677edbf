import type { TimeGroup } from '@shoal/contract'
import { sql, timestampSql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { levelOfGroup, tableOf } from '../levels.ts'
import type { Range } from '../range.ts'

/** SQL of the column `at` in milliseconds since 1970, named `atMs`. */
export const selectAtMs = sql`(extract(epoch from at) * 1000)::float8 as "atMs"`

/** Usage of one container in one bucket. Means are over the observed time; null means unknown. */
export type UsageBucket = {
  atMs: number
  container: string
  cpuCores: number | null
  cpuLimitCores: number | null
  memoryBytes: number | null
  memoryLimitBytes: number | null
  diskUsedBytes: number | null
  diskTotalBytes: number | null
}

/** Returns the usage of each container of a version by bucket, oldest first. */
export async function selectUsage(
  db: Db,
  squidId: number,
  { fromMs, toMs }: Range,
  group: TimeGroup,
): Promise<UsageBucket[]> {
  const { rows } = await db.execute<UsageBucket>(
    sql`select ${selectAtMs}, container, cpu_seconds / nullif(observed_seconds, 0) as "cpuCores",
          cpu_limit_seconds / nullif(observed_seconds, 0) as "cpuLimitCores",
          memory_byte_seconds / nullif(observed_seconds, 0) as "memoryBytes", memory_limit_bytes as "memoryLimitBytes",
          disk_used_bytes as "diskUsedBytes", disk_total_bytes as "diskTotalBytes"
        from ${sql.identifier(tableOf('container', levelOfGroup[group]))}
        where squid_id = ${squidId} and at >= ${timestampSql(fromMs)} and at < ${timestampSql(toMs)} order by at`,
  )
  return rows
}
