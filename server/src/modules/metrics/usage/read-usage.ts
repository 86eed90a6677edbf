import type { TimeGroup, UsagePoint } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { isApi, isHasura } from '../../containers.ts'
import { createRetentionCheck } from '../levels.ts'
import { bucketsOf, timeGroupOf, type Range } from '../range.ts'
import { selectUsage, type UsageBucket } from './usage-store.ts'

/** Returns the usage of a version's api, processors and database. Replicas and processors are added up. */
export async function squidUsage(
  app: Pick<App, 'db' | 'clock' | 'config'>,
  squidId: number,
  range: Range,
): Promise<{ timeGroup: TimeGroup; metrics: UsagePoint[] }> {
  const timeGroup = timeGroupOf(range, createRetentionCheck(app))
  const buckets = bucketsOf(range, timeGroup)
  const fromMs = buckets[0]?.getTime() ?? range.fromMs
  const rows = Map.groupBy(await selectUsage(app.db, squidId, { ...range, fromMs }, timeGroup), (row) => row.atMs)
  return { timeGroup, metrics: buckets.map((at) => pointOf(at, rows.get(at.getTime()) ?? [])) }
}

function pointOf(at: Date, rows: UsageBucket[]): UsagePoint {
  const parts = Map.groupBy(rows, ({ container }) => partOf(container))
  const sumsOfPart = (part: Part) => {
    const containers = parts.get(part) ?? []
    return (value: (row: UsageBucket) => number | null, unit = 1) => sumOf(containers.map(value), unit)
  }
  const [api, db, processor] = [sumsOfPart('api'), sumsOfPart('db'), sumsOfPart('processor')]
  return {
    ts: at.toISOString(),
    apiCpuUsage: api((row) => row.cpuCores),
    dbCpuUsage: db((row) => row.cpuCores),
    processorCpuUsage: processor((row) => row.cpuCores),
    apiMemUsageMb: api((row) => row.memoryBytes, megabyte),
    dbMemUsageMb: db((row) => row.memoryBytes, megabyte),
    processorMemUsageMb: processor((row) => row.memoryBytes, megabyte),
    apiCpuRequested: api((row) => row.cpuLimitCores),
    processorCpuRequested: processor((row) => row.cpuLimitCores),
    apiMemRequestedMb: api((row) => row.memoryLimitBytes, megabyte),
    processorMemRequestedMb: processor((row) => row.memoryLimitBytes, megabyte),
    dbDiskUsedBytes: db((row) => row.diskUsedBytes),
    dbDiskRequestedBytes: db((row) => row.diskTotalBytes),
  }
}

const megabyte = 2 ** 20

type Part = 'api' | 'db' | 'processor' | 'init' | 'hasura'

function partOf(container: string): Part {
  if (container === 'db' || container === 'init') return container
  if (isHasura({ name: container })) return 'hasura'
  return isApi({ name: container }) ? 'api' : 'processor'
}

/** Returns the sum of the known values; null if all are unknown. */
function sumOf(values: (number | null)[], unit: number): number | null {
  const knownValues = values.filter((value) => value !== null)
  return knownValues.length === 0 ? null : knownValues.reduce((sum, value) => sum + value, 0) / unit
}
