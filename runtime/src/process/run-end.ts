import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Restart, RunOutcome } from '../driver.ts'
import { isFinal } from '../exit-message.ts'
import type { ContainerRecord, RecordedEnd, RecordedRun } from './container-record.ts'
import type { ContainerContext } from './container-run.ts'
import { ranOutOfHeap } from './run-log.ts'

/** Exit code of a killed program. */
const KILLED_EXIT_CODE = 137

/**
 * `exitCode`: see `Run.ended`. `kernelOomKills`: all out-of-memory kills during the run; null without cgroups. `survivedOomKills`: those
 * that did not end it. `isStopped`: stopped by the driver.
 */
type ObservedEnd = {
  exitCode: number | null
  kernelOomKills: number | null
  survivedOomKills: number
  isStopped: boolean
  restart: Restart | undefined
}

/**
 * Determines how a run ended. An out-of-memory kill takes precedence over the exit code, which wrapper programs may hide: the
 * recorded exit code is then never 0.
 */
export function determineEnd(
  context: ContainerContext,
  record: ContainerRecord,
  run: RecordedRun,
  end: ObservedEnd,
): RecordedEnd {
  const { kernelOomKills } = end
  const isHeapFull = end.exitCode !== 0 && !kernelOomKills && ranOutOfHeap(context.files.log, record.logBytesBefore)
  const isOutOfMemory = (kernelOomKills ?? 0) > end.survivedOomKills || isHeapFull
  const exitCode = isOutOfMemory ? end.exitCode || KILLED_EXIT_CODE : end.exitCode
  const outcomeByExitCode: RunOutcome = exitCode === 0 && isFinal(end.restart, exitCode) ? 'done' : 'error'
  return {
    ...run,
    exitCode,
    how: end.isStopped ? 'stopped' : isOutOfMemory ? 'oom' : outcomeByExitCode,
    endedAt: endTimeOf(context, record, run).toISOString(),
    oomKills: isHeapFull ? 1 : kernelOomKills,
  }
}

/** Returns the time at which the shim recorded the exit, which may be long ago if no server was running. */
function endTimeOf(
  { hostContext, files }: ContainerContext,
  record: ContainerRecord,
  { startedAt }: RecordedRun,
): Date {
  const exit = statSync(join(files.run(record.run), 'exit'), { throwIfNoEntry: false })
  const agoMs = exit ? Math.max(0, Date.now() - exit.mtimeMs) : 0
  return new Date(Math.max(new Date(startedAt).getTime(), hostContext.clock.now().getTime() - agoMs))
}
