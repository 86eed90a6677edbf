import type { WorkerApp } from '../../../app.ts'
import { hasFinished } from './ending.ts'
import type { HeadLookup } from '../sources/known-heads.ts'
import { readContainers, type ContainersLook } from './observe-containers.ts'
import type { ContainerRow } from '../observe-store.ts'
import { containerKey, type ObservationCache } from '../observation-cache.ts'
import { isProcessor, workloadIdOf } from '../../manifest/index.ts'

/** Reads all containers, after deciding about every processor that ended with exit code 0. */
export type JudgingLook = () => Promise<ContainersLook>

/** `headOf` returns the independent head of a processor's chain. */
export function createJudgingLook(
  { clock, runtime }: Pick<WorkerApp, 'clock' | 'runtime'>,
  seen: ObservationCache,
  headOf: HeadLookup,
): JudgingLook {
  /** The end times of the processors that have finished their work. */
  const finished = new Map<string, number>()

  const isFinished = async (key: string, row: ContainerRow): Promise<boolean> => {
    const endedAtMs = row.since.getTime()
    if (finished.get(key) === endedAtMs) return true
    const workload = workloadIdOf(row.squidId, row.generation)
    const isDone = await hasFinished(runtime, { ...row, workload }, () => movesOn(row))
    if (isDone) finished.set(key, endedAtMs)
    return isDone
  }

  const movesOn = (row: ContainerRow): boolean => {
    const headBlock = headOf(row)?.head?.headBlock
    return headBlock !== undefined && headBlock > (seen.processors.get(containerKey(row))?.currentBlock ?? -1)
  }

  return async () => {
    const reading = await readContainers({ clock, runtime }, seen.containers)
    for (const key of finished.keys()) if (!reading.containers.has(key)) finished.delete(key)
    const ended = [...reading.containers].filter(
      ([, row]) => row.state === 'finished' && row.exitCode === 0 && isProcessor({ name: row.container }),
    )
    let isRetried = false
    for (const [key, row] of ended) if (!(await isFinished(key, row))) isRetried = true
    return isRetried ? readContainers({ clock, runtime }, seen.containers) : reading
  }
}
