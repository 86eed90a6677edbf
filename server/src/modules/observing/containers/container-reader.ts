import type { WorkerApp } from '../../../app.ts'
import { restartUnlessFinished } from './ending.ts'
import type { HeadLookup } from '../sources/known-heads.ts'
import { readContainers, type ContainersReading, type LastReadings } from './observe-containers.ts'
import type { ContainerRow } from '../observe-store.ts'
import { containerKey } from '../../container-key.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { isProcessor } from '../../containers.ts'

/** Reads all containers, after deciding whether each processor that ended with exit code 0 has finished its work. */
export type ContainerReader = () => Promise<ContainersReading>

/** Creates a reader of all containers. `headOf` returns the independent head of a processor's chain. */
export function createContainerReader(
  { clock, runtime }: Pick<WorkerApp, 'clock' | 'runtime'>,
  cache: ObservationCache,
  headOf: HeadLookup,
): ContainerReader {
  /** The end times of the processors that have finished their work. */
  const finishedAtMs = new Map<string, number>()
  const last: LastReadings = new Map()

  const isFinished = async (key: string, row: ContainerRow): Promise<boolean> => {
    const endedAtMs = row.since.getTime()
    if (finishedAtMs.get(key) === endedAtMs) return true
    const workload = workloadIdOf(row.squidId, row.generation)
    const isDone = await restartUnlessFinished(runtime, { ...row, workload }, () => hasNewBlocks(row))
    if (isDone) finishedAtMs.set(key, endedAtMs)
    return isDone
  }

  const hasNewBlocks = (row: ContainerRow): boolean => {
    const headBlock = headOf(row)?.head?.headBlock
    return headBlock !== undefined && headBlock > (cache.processors.get(containerKey(row))?.currentBlock ?? -1)
  }

  return async () => {
    const reading = await readContainers({ clock, runtime }, cache.containers, last)
    for (const key of finishedAtMs.keys()) if (!reading.containers.has(key)) finishedAtMs.delete(key)
    let isRetried = false
    for (const [key, row] of reading.containers) {
      const hasEnded = row.state === 'finished' && row.exitCode === 0 && isProcessor({ name: row.container })
      if (hasEnded && !(await isFinished(key, row))) isRetried = true
    }
    return isRetried ? readContainers({ clock, runtime }, cache.containers, last) : reading
  }
}
