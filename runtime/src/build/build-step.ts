import { runIsolated } from '../process/isolated-program.ts'
import type { OpenDisk } from '../process/disk/disks.ts'
import type { Host } from '../process/host.ts'
import type { BuildLimits } from '../builder.ts'
import { explainStepFailure, outOfDisk } from './build-failures.ts'
import { type BuildLog, seconds } from './build-log.ts'
import type { PackageManager } from './package-manager.ts'
import type { TreeTasks } from './tree-tasks.ts'

/** Settings shared by all programs of one running build. */
export type BuildRun = {
  host: Host
  /** The disk with the folders of the build. */
  disk: OpenDisk
  trees: TreeTasks
  /** Unique on this host; part of the names of the build's isolated programs. */
  name: string
  /** Null: the user of the server. */
  uid: number | null
  manager: PackageManager
  limits: BuildLimits
  /** Time at which the whole build must have ended, in ms since the epoch. */
  deadlineMs: number
  env: Record<string, string>
  readableDirs: string[]
  /** The home and temporary folders. */
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
  /** True: the output is not logged; its last lines are only in the message of a failure. */
  isQuiet?: boolean
}

/** Prefix of the names of isolated build programs. Those of containers have another prefix. */
export const BUILD_NAME_PREFIX = 'build-'

/**
 * Runs one program of a build.
 * @throws BuildFailure when the program failed, or the signal's reason when the build was cancelled
 */
export async function runBuildStep(
  run: BuildRun,
  { step, command, cwd, env, writableDirs, isQuiet = false }: BuildStep,
): Promise<void> {
  run.signal.throwIfAborted()
  const commandText = command.join(' ')
  if (!isQuiet) {
    run.log.info(`$ ${commandText}`)
  }
  const startedAt = performance.now()
  const { onLine, tail } = run.log.capture(isQuiet)
  const result = await runIsolated(run.host, {
    name: `${BUILD_NAME_PREFIX}${run.name}-${step}`,
    command,
    env: mapValues({ ...run.env, ...env }, run.disk.inNamespace),
    cwd: run.disk.inNamespace(cwd),
    uid: run.uid,
    readableDirs: run.readableDirs,
    writableDirs: [...run.writableDirs, ...writableDirs].map(run.disk.inNamespace),
    maxFileBytes: run.limits.diskBytes === 0 ? null : run.limits.diskBytes,
    commandPrefix: run.disk.commandPrefix,
    resources: { cpuCores: run.limits.cpuCores, memoryBytes: run.limits.memoryBytes },
    timeMs: Math.max(run.deadlineMs - Date.now(), 1),
    signal: run.signal,
    onLine,
  })
  run.signal.throwIfAborted()
  if (result.exitCode !== 0 || result.timedOut) {
    throw explainStepFailure({
      step,
      command: commandText,
      result,
      tail,
      limits: run.limits,
      manager: run.manager,
      hasOwnDisk: run.disk.kind !== 'none',
    })
  }
  if (!isQuiet) {
    run.log.info(`${commandText}: done in ${seconds(performance.now() - startedAt)}`)
  }
}

/**
 * Seals a tree that programs of the build have written. Resolves with the total size of its files in bytes.
 * @throws BuildFailure when it cannot be sealed, or when its files add up to more than the build's disk, which is possible with sparse
 * files: a backup would store their holes as zeros
 */
export async function sealResult({ trees, uid, disk, limits }: BuildRun, root: string): Promise<number> {
  const bytes = await trees.seal(root, uid)
  if (disk.kind !== 'none' && bytes > limits.diskBytes) {
    throw outOfDisk('The build', limits)
  }
  return bytes
}

const mapValues = (env: Record<string, string>, map: (text: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, map(value)]))
