import type { RunOutcome, LastRun, Observation, Run } from '@shoal/runtime'
import { minutes } from '../../../clock.ts'
import type { ContainerRow } from '../observe-store.ts'

/** A run of at least this length is stable: a crash that ends it counts as the first in a row. */
const stableMs = minutes(10)

/** Totals over the runs of a container, up to the newest observed one. */
export type RunCounts = Pick<
  ContainerRow,
  'restarts' | 'crashesInARow' | 'oomKills' | 'exitCode' | 'isOutOfMemory' | 'run' | 'runOrdinal' | 'runEnd'
>

const noRuns: RunCounts = {
  restarts: 0,
  crashesInARow: 0,
  oomKills: 0,
  exitCode: null,
  isOutOfMemory: false,
  run: null,
  runOrdinal: -1,
  runEnd: null,
}

/** A program that was stopped on request or evicted by its host has not crashed. */
export const isCrash = (how: RunOutcome): boolean => how === 'error' || how === 'oom'

/**
 * Adds the starts and ends since the previous observation to the totals `before`. Runs that began and ended between two observations
 * are detected by the gap in `ordinal`, and each counts as a crash. Without `before` (the first observation), all runs count.
 */
export function countRuns(
  before: RunCounts | undefined,
  { run, lastRun }: Pick<Observation, 'run' | 'lastRun'>,
): RunCounts {
  let counts = before ?? noRuns
  // An earlier release, which did not record runs, wrote these totals. Counting continues from them.
  if (before?.runOrdinal === null) counts = adoptTotals(before, { run, lastRun })
  const isLastRunNew = run === null || run.id !== counts.run
  if (lastRun && isLastRunNew) counts = withEnd(counts, lastRun)
  if (run && run.id !== counts.run) counts = withStart(counts, run)
  return lastRun ? { ...counts, exitCode: lastRun.exitCode, isOutOfMemory: lastRun.how === 'oom' } : counts
}

function adoptTotals(counts: RunCounts, { run, lastRun }: Pick<Observation, 'run' | 'lastRun'>): RunCounts {
  if (run) return { ...counts, run: run.id, runOrdinal: run.ordinal, runEnd: null }
  return lastRun ? { ...counts, run: lastRun.id, runOrdinal: lastRun.ordinal, runEnd: lastRun.how } : counts
}

function withStart(before: RunCounts, { id, ordinal }: Run): RunCounts {
  const { run, runOrdinal, runEnd } = before
  // If the ordinals start again, another container has replaced the observed one.
  const isContinued = runOrdinal !== null && ordinal > runOrdinal
  const missedRuns = isContinued ? ordinal - runOrdinal - 1 : ordinal
  const unobservedEnds = isContinued && run !== null && runEnd === null ? 1 : 0
  const observedCrashes = isContinued && runEnd !== null && isCrash(runEnd) ? 1 : 0
  return {
    ...before,
    restarts: before.restarts + missedRuns + unobservedEnds + observedCrashes,
    crashesInARow: before.crashesInARow + missedRuns + unobservedEnds,
    run: id,
    runOrdinal: ordinal,
    runEnd: null,
  }
}

function withEnd(before: RunCounts, lastRun: LastRun): RunCounts {
  const { id, how, oomKills, startedAt, endedAt } = lastRun
  const counts = before.run === id ? before : withStart(before, lastRun)
  if (counts.runEnd === how) return counts
  // The processor first counted as finished; then the server decided that it has more work.
  if (counts.runEnd !== null)
    return { ...counts, runEnd: how, crashesInARow: counts.crashesInARow + (isCrash(how) ? 1 : 0) }
  const wasStable = endedAt.getTime() - startedAt.getTime() >= stableMs
  return {
    ...counts,
    runEnd: how,
    crashesInARow: (wasStable ? 0 : counts.crashesInARow) + (isCrash(how) ? 1 : 0),
    oomKills: counts.oomKills + (oomKills ?? (how === 'oom' ? 1 : 0)),
  }
}
