import type { LastRun, Observation, Resources, Run, ContainerUsage } from '../driver.ts'
import { type ContainerRecord, type RecordedEnd, type RecordedRun, runGoingOn } from './container-record.ts'
import type { RunUsage } from './container-usage.ts'

type Names = { workload: string; container: string }

export function observationOf(names: Names, record: ContainerRecord): Observation {
  const run = runGoingOn(record)
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

/** Of the run that goes on, by what `measure` says now; else of the last one, as it was at its end. Null when there was none. */
export function usageOf(
  names: Names,
  at: Date,
  record: ContainerRecord,
  limits: Resources,
  measure: () => RunUsage,
): ContainerUsage | null {
  const open = runGoingOn(record)
  const run = open ?? record.lastRun
  if (!run) return null
  const unknown = { cpuSeconds: null, throttledSeconds: null, oomKills: null }
  // What is left in the cgroup after a run is file cache nobody uses.
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
