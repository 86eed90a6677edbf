import type { Observation, Resources, Usage } from '../driver.ts'
import type { CgroupUsage } from './cgroup-files.ts'
import type { ContainerRecord } from './container-record.ts'

type Names = { workload: string; container: string }

export function observationOf(names: Names, record: ContainerRecord): Observation {
  const { state, restarts, crashes, oomKills, exitCode, outOfMemory, reason } = record
  return {
    ...names,
    state,
    since: new Date(record.since),
    restarts,
    crashesInARow: crashes,
    oomKills,
    exitCode,
    outOfMemory,
    retryAt: record.retryAt === null ? null : new Date(record.retryAt),
    reason,
  }
}

/** `counted`: by the cgroup or the processes that are there now; what earlier ones counted is in the record. */
export function usageOf(
  names: Names,
  at: Date,
  record: ContainerRecord,
  limits: Resources,
  counted: CgroupUsage,
): Usage {
  const { spent, isRunOpen, oomKills, oomKillsBefore } = record
  return {
    ...names,
    at,
    cpuSeconds: spent.cpuSeconds + counted.cpuSeconds,
    throttledSeconds: spent.throttledSeconds + counted.throttledSeconds,
    // What is left in the cgroup after a run is file cache nobody uses.
    memoryBytes: isRunOpen ? counted.memoryBytes : 0,
    memoryLimitBytes: limits.memoryBytes,
    cpuLimitCores: limits.cpuCores,
    oomKills: oomKills + (isRunOpen ? Math.max(0, counted.oomKills - oomKillsBefore) : 0),
  }
}
