import type { EndedHow, LastRun, Observation, Run } from '@shoal/runtime'
import { minutes } from '../../../clock.ts'
import type { ContainerRow } from '../observe-store.ts'

/** After this long a run counts as stable: the next crash is the first in a row. */
const stableMs = minutes(10)

/** Totals over the runs of a container, up to the newest observed one. */
export type RunCounts = Pick<
  ContainerRow,
  'restarts' | 'crashesInARow' | 'oomKills' | 'exitCode' | 'isOutOfMemory' | 'run' | 'runOrdinal' | 'runEnd'
>

const nothing: RunCounts = {
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
export const isCrash = (how: EndedHow): boolean => how === 'error' || how === 'oom'

/**
 * Adds the events since the previous observation to its totals `before`. Runs that began and ended between two observations are
 * detected by the gap in `ordinal`, and each counts as a crash. Without `before` (the first observation), all runs count.
 */
export function countRuns(
  before: RunCounts | undefined,
  { run, lastRun }: Pick<Observation, 'run' | 'lastRun'>,
): RunCounts {
  let counts = before ?? nothing
  // Totals of a release without runs: counting continues from here.
  if (before?.runOrdinal === null) counts = upToNow(before, { run, lastRun })
  const isLastRunNews = run === null || run.id !== counts.run
  if (lastRun && isLastRunNews) counts = withEnd(counts, lastRun)
  if (run && run.id !== counts.run) counts = withStart(counts, run)
  return lastRun ? { ...counts, exitCode: lastRun.exitCode, isOutOfMemory: lastRun.how === 'oom' } : counts
}

function upToNow(counts: RunCounts, { run, lastRun }: Pick<Observation, 'run' | 'lastRun'>): RunCounts {
  if (run) return { ...counts, run: run.id, runOrdinal: run.ordinal, runEnd: null }
  return lastRun ? { ...counts, run: lastRun.id, runOrdinal: lastRun.ordinal, runEnd: lastRun.how } : counts
}

function withStart(before: RunCounts, { id, ordinal }: Run): RunCounts {
  const { run, runOrdinal, runEnd } = before
  // A container whose ordinals start again has replaced the one that was observed.
  const isContinued = runOrdinal !== null && ordinal > runOrdinal
  const missed = isContinued ? ordinal - runOrdinal - 1 : ordinal
  const endedUnseen = isContinued && run !== null && runEnd === null ? 1 : 0
  const crashed = isContinued && runEnd !== null && isCrash(runEnd) ? 1 : 0
  return {
    ...before,
    restarts: before.restarts + missed + endedUnseen + crashed,
    crashesInARow: before.crashesInARow + missed + endedUnseen,
    run: id,
    runOrdinal: ordinal,
    runEnd: null,
  }
}

function withEnd(before: RunCounts, lastRun: LastRun): RunCounts {
  const { id, how, oomKills, startedAt, endedAt } = lastRun
  const counts = before.run === id ? before : withStart(before, lastRun)
  if (counts.runEnd === how) return counts
  // The end was accepted at first; then the server decided that the processor has more work.
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
