import type { LastRun, Observation, Resources, Run, ContainerUsage } from '../driver.ts'
import { type ContainerRecord, type RecordedEnd, type RecordedRun, currentRun } from './container-record.ts'
import type { RunUsage } from './container-usage.ts'

type Names = { workload: string; container: string }

export type UsageInput = {
  names: Names
  at: Date
  record: ContainerRecord
  limits: Resources
  measure: () => RunUsage
}

export function observationOf(names: Names, record: ContainerRecord): Observation {
  const run = currentRun(record)
  return {
    ...names,
    state: record.state,
    since: new Date(record.since),
    run: run && runOf(run),
    lastRun: record.lastRun && lastRunOf(record.lastRun),
    retryAt: record.retryAt === null ? null : new Date(record.retryAt),
    reason: record.reason,
  }
}

const runOf = ({ id, ordinal, startedAt }: RecordedRun): Run => ({
  id,
  ordinal,
  startedAt: new Date(startedAt),
  node: null,
})

const lastRunOf = ({ exitCode, how, endedAt, oomKills, ...run }: RecordedEnd): LastRun => ({
  ...runOf(run),
  exitCode,
  how,
  endedAt: new Date(endedAt),
  oomKills,
})

/** Usage of the current run as measured now, or of the last run at its end; null when there was none. */
export function usageOf({ names, at, record, limits, measure }: UsageInput): ContainerUsage | null {
  const open = currentRun(record)
  const run = open ?? record.lastRun
  if (!run) return null
  const unknown = { cpuSeconds: null, throttledSeconds: null, oomKills: null }
  // After a run, the cgroup only contains unused file cache.
  const used = open ? measure() : { ...(record.used ?? unknown), memoryBytes: 0 }
  return {
    ...names,
    run: run.id,
    at,
    ...used,
    memoryLimitBytes: limits.memoryBytes,
    cpuLimitCores: limits.cpuCores,
  }
}
