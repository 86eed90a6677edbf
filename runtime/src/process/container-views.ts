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
    diskFullSince: record.diskFullSince ? new Date(record.diskFullSince) : null,
    hostLostSince: null,
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

/** Measures the current run, or returns the usage of the last run at its end; null when the container has never run. */
export function usageOf({ names, at, record, limits, measure }: UsageInput): ContainerUsage | null {
  const current = currentRun(record)
  const run = current ?? record.lastRun
  if (!run) return null
  const unknown = { cpuSeconds: null, throttledSeconds: null, oomKills: null }
  // After a run, the cgroup contains only unused file cache.
  const used = current ? measure() : { ...(record.used ?? unknown), memoryBytes: 0 }
  return {
    ...names,
    run: run.id,
    at,
    ...used,
    memoryLimitBytes: limits.memoryBytes,
    cpuLimitCores: limits.cpuCores,
  }
}
