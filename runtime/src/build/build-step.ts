import { runInBox } from '../process/box.ts'
import type { Host } from '../process/host.ts'
import type { BuildLimits } from '../builder.ts'
import { explain } from './build-failures.ts'
import { type BuildLog, seconds } from './build-log.ts'
import type { PackageManager } from './package-manager.ts'
import type { TreeTasks } from './tree-tasks.ts'

/** One build under way: what all its programs have in common. */
export type BuildRun = {
  host: Host
  trees: TreeTasks
  /** One word, unique on this host; the names of its boxes begin with it. */
  name: string
  /** Null: the user we are. */
  uid: number | null
  manager: PackageManager
  limits: BuildLimits
  /** When the time of the whole build is over, in ms since the epoch. */
  deadlineMs: number
  env: Record<string, string>
  readableDirs: string[]
  /** Home and temporary folder. */
  writableDirs: string[]
  log: BuildLog
  signal: AbortSignal
}

export type BuildStep = {
  step: 'install' | 'build' | 'prune'
  command: string[]
  cwd: string
  env?: Record<string, string>
  writableDirs: string[]
  /** Its output is of interest only when it fails. */
  isQuiet?: boolean
}

/** The boxes of builds begin with this; containers have other names. */
export const BOX_PREFIX = 'build-'

/**
 * Runs one program of a build to its end.
 * @throws BuildFailure saying what failed, or the signal's reason when the build was cancelled
 */
export async function runStep(
  run: BuildRun,
  { step, command, cwd, env, writableDirs, isQuiet = false }: BuildStep,
): Promise<void> {
  run.signal.throwIfAborted()
  const shown = command.join(' ')
  if (!isQuiet) {
    run.log.say(`$ ${shown}`)
  }
  const startedAt = performance.now()
  const { onLine, tail } = run.log.capture(isQuiet)
  const result = await runInBox(run.host, {
    name: `${BOX_PREFIX}${run.name}-${step}`,
    command,
    env: { ...run.env, ...env },
    cwd,
    uid: run.uid,
    readableDirs: run.readableDirs,
    writableDirs: [...run.writableDirs, ...writableDirs],
    resources: { cpuCores: run.limits.cpuCores, memoryBytes: run.limits.memoryBytes },
    timeMs: Math.max(run.deadlineMs - Date.now(), 1),
    signal: run.signal,
    onLine,
  })
  run.signal.throwIfAborted()
  if (result.exitCode !== 0 || result.timedOut) {
    throw explain({ step, command: shown, result, tail, limits: run.limits, manager: run.manager })
  }
  if (!isQuiet) {
    run.log.say(`${shown}: done in ${seconds(performance.now() - startedAt)}`)
  }
}
