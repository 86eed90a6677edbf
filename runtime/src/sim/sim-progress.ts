import type { ContainerSpec } from '../driver.ts'
import type { SimBehaviour, SimSync } from './behaviour.ts'

/** Progress of a processor since its run started. */
export type SimProgress = { lastBlock: number; headBlock: number; blocksPerSecond: number; rpcResponses?: number }

/** Returns the progress of a processor that catches up with the head at `blocksPerSecond` and then follows it. */
export function progressAfter(sync: SimSync, runSeconds: number): SimProgress {
  const seconds = secondsObserved(sync, runSeconds)
  const headBlock = Math.floor(sync.headBlock + sync.headBlocksPerSecond * seconds)
  const uncappedBlock = Math.floor(sync.fromBlock + sync.blocksPerSecond * seconds)
  const lastBlock = Math.min(uncappedBlock, headBlock, sync.stallsAtBlock ?? Infinity, sync.toBlock ?? Infinity)
  const isMoving = lastBlock === uncappedBlock
  return {
    lastBlock,
    headBlock,
    blocksPerSecond: isMoving ? sync.blocksPerSecond : lastBlock === headBlock ? sync.headBlocksPerSecond : 0,
    ...(sync.source && { rpcResponses: Math.floor((seconds * 1000) / sync.source.requestEveryMs) }),
  }
}

/** Returns the seconds until the processor reaches `block`; Infinity if it never does. */
export function secondsUntil(
  { fromBlock, headBlock, headBlocksPerSecond, blocksPerSecond }: SimSync,
  block: number,
): number {
  const secondsToProduce = block <= headBlock ? 0 : (block - headBlock) / headBlocksPerSecond
  return Math.max(0, secondsToProduce, (block - fromBlock) / blocksPerSecond)
}

/** Returns the second of the run at which the processor last knew the head. It does not increase while the source does not respond. */
function secondsObserved({ source }: SimSync, seconds: number): number {
  const { silentFromMs = Infinity, silentToMs = Infinity } = source ?? {}
  return seconds * 1000 >= silentToMs ? seconds : Math.min(seconds, silentFromMs / 1000)
}

/** Returns the usage of a program that has run for `seconds`, within its limits. */
export function usageAfter(
  { usage = { cpuCores: 0.01, memoryBytes: 32 * 1024 * 1024 } }: SimBehaviour,
  { cpuCores, memoryBytes }: ContainerSpec['resources'],
  seconds: number,
): { cpuSeconds: number; throttledSeconds: number; memoryBytes: number } {
  const memory = usage.memoryBytes + (usage.memoryGrowthBytesPerSecond ?? 0) * seconds
  return {
    cpuSeconds: Math.min(usage.cpuCores, cpuCores) * seconds,
    throttledSeconds: usage.cpuCores > cpuCores ? (1 - cpuCores / usage.cpuCores) * seconds : 0,
    memoryBytes: Math.min(memoryBytes, Math.round(memory)),
  }
}
