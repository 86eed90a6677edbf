import { runInBox } from '../process/box.ts'
import type { Host } from '../process/host.ts'
import type { BuildLimits } from '../builder.ts'
import { explain } from './build-failures.ts'
import { type BuildLog, seconds } from './build-log.ts'
import type { PackageManager } from './package-manager.ts'
import type { TreeTasks } from './tree-tasks.ts'

/** Settings shared by all programs of one running build. */
export type BuildRun = {
  host: Host
  trees: TreeTasks
  /** One word, unique on this host; prefix of the names of its boxes. */
  name: string
  /** Null: the user of the server. */
  uid: number | null
  manager: PackageManager
  limits: BuildLimits
  /** End of the time limit of the whole build, in ms since the epoch. */
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
  /** Logs the output only if the step fails. */
  isQuiet?: boolean
}

/** Name prefix of the boxes of builds, different from that of containers. */
export const BOX_PREFIX = 'build-'

/**
 * Runs one program of a build.
 * @throws BuildFailure when it failed, or the signal's reason when the build was cancelled
 */
export async function runStep(
  run: BuildRun,
  { step, command, cwd, env, writableDirs, isQuiet = false }: BuildStep,
): Promise<void> {
  run.signal.throwIfAborted()
  const shown = command.join(' ')
  if (!isQuiet) {
    run.log.info(`$ ${shown}`)
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
    run.log.info(`${shown}: done in ${seconds(performance.now() - startedAt)}`)
  }
}
