/**
 * Counters of a container at its last sample. CPU is of `run` alone and starts at 0 with each run; crashes and kills are of all
 * runs.
 */
export type Counters = {
  squidId: number
  generation: number
  container: string
  /** Null: it has not run, or has no runs (a database). */
  run: string | null
  atMs: number
  cpuSeconds: number | null
  throttledSeconds: number | null
  oomKills: number
  crashes: number
  lastBlock: number | null
  rpcRequests: number | null
  rpcFailures: number | null
}

/** Values reported by a processor. */
export type Progress = {
  lastBlock: number
  chainHeight: number
  syncRatio: number | null
  etaSeconds: number | null
  blocksPerSecond: number | null
}

/** Current state of a container. Null: unknown here. */
export type CounterReading = Omit<Counters, 'oomKills' | 'crashes'> & {
  oomKills: number | null
  crashes: number | null
  cpuLimitCores: number | null
  memoryBytes: number | null
  memoryLimitBytes: number | null
  diskUsedBytes: number | null
  diskTotalBytes: number | null
  progress: Progress | null
}

/** The stored values of a reading: sums over the time since the previous reading, and the current state. */
export type Sample = {
  squidId: number
  container: string
  /** 0 after a gap in readings: usage of that time is unknown. */
  observedSeconds: number
  cpuSeconds: number | null
  cpuLimitSeconds: number | null
  throttledSeconds: number | null
  memoryByteSeconds: number | null
  memoryPeakBytes: number | null
  memoryLimitBytes: number | null
  oomKills: number
  crashes: number
  diskUsedBytes: number | null
  diskTotalBytes: number | null
  blocks: number | null
  progress: Progress | null
  rpcRequests: number | null
  rpcFailures: number | null
}

/** More time between two readings is a gap. */
export const gapMs = 45_000

/**
 * Times and sizes are of the time since `before`, and unknown after a gap. Events (crashes, kills, blocks, requests) are counted
 * once whenever they are noticed, so that sums over days are right. `blockBefore`: the last block of the version's processor, in
 * any generation.
 */
export function sampleOf(reading: CounterReading, before: Counters | undefined, blockBefore: number | null): Sample {
  const elapsedMs = before ? reading.atMs - before.atMs : 0
  const observedSeconds = elapsedMs > 0 && elapsedMs <= gapMs ? elapsedMs / 1000 : 0
  // The rest of an ended run is lost with it; nothing is lost of the next one.
  const isNewRun = before?.run != null && reading.run !== before.run
  const spent = (now: number | null, then: number | null | undefined) =>
    observedSeconds === 0 ? null : grownBy(now, isNewRun ? 0 : (then ?? null))
  const cpuSeconds = spent(reading.cpuSeconds, before?.cpuSeconds)
  const { squidId, container, memoryBytes, cpuLimitCores } = reading
  return {
    squidId,
    container,
    observedSeconds,
    cpuSeconds,
    cpuLimitSeconds: cpuSeconds === null || cpuLimitCores === null ? null : cpuLimitCores * observedSeconds,
    throttledSeconds: spent(reading.throttledSeconds, before?.throttledSeconds),
    memoryByteSeconds: memoryBytes === null || observedSeconds === 0 ? null : memoryBytes * observedSeconds,
    memoryPeakBytes: memoryBytes,
    memoryLimitBytes: reading.memoryLimitBytes,
    oomKills: counted(reading.oomKills, before?.oomKills) ?? 0,
    crashes: counted(reading.crashes, before?.crashes) ?? 0,
    diskUsedBytes: reading.diskUsedBytes,
    diskTotalBytes: reading.diskTotalBytes,
    blocks: grownBy(reading.lastBlock, blockBefore) ?? (reading.lastBlock === null ? null : 0),
    progress: reading.progress,
    rpcRequests: counted(reading.rpcRequests, before?.rpcRequests ?? undefined),
    rpcFailures: counted(reading.rpcFailures, before?.rpcFailures ?? undefined),
  }
}

/** The counters for the next reading: unknown values keep their last known value. */
export function countersOf(reading: CounterReading, before: Counters | undefined): Counters {
  return {
    squidId: reading.squidId,
    generation: reading.generation,
    container: reading.container,
    run: reading.run,
    atMs: reading.atMs,
    cpuSeconds: reading.cpuSeconds,
    throttledSeconds: reading.throttledSeconds,
    oomKills: reading.oomKills ?? before?.oomKills ?? 0,
    crashes: reading.crashes ?? before?.crashes ?? 0,
    lastBlock: reading.lastBlock ?? before?.lastBlock ?? null,
    rpcRequests: reading.rpcRequests ?? before?.rpcRequests ?? null,
    rpcFailures: reading.rpcFailures ?? before?.rpcFailures ?? null,
  }
}

/** Null when one of them is unknown, or when the counter was reset in between. */
const grownBy = (now: number | null, then: number | null): number | null =>
  now === null || then === null || now < then ? null : now - then

/** A counter that is lower than before was reset. */
const counted = (now: number | null, then: number | undefined): number | null =>
  now === null ? null : then === undefined || now < then ? now : now - then

/** Generations that run side by side during an update count as one container. */
export function addUp(samples: Sample[]): Sample[] {
  const sums = new Map<string, Sample>()
  for (const sample of samples) {
    const key = `${sample.squidId} ${sample.container}`
    const other = sums.get(key)
    sums.set(key, other ? both(other, sample) : sample)
  }
  return [...sums.values()]
}

function both(a: Sample, b: Sample): Sample {
  return {
    squidId: a.squidId,
    container: a.container,
    observedSeconds: Math.max(a.observedSeconds, b.observedSeconds),
    cpuSeconds: sum(a.cpuSeconds, b.cpuSeconds),
    cpuLimitSeconds: sum(a.cpuLimitSeconds, b.cpuLimitSeconds),
    throttledSeconds: sum(a.throttledSeconds, b.throttledSeconds),
    memoryByteSeconds: sum(a.memoryByteSeconds, b.memoryByteSeconds),
    memoryPeakBytes: sum(a.memoryPeakBytes, b.memoryPeakBytes),
    memoryLimitBytes: sum(a.memoryLimitBytes, b.memoryLimitBytes),
    oomKills: a.oomKills + b.oomKills,
    crashes: a.crashes + b.crashes,
    diskUsedBytes: sum(a.diskUsedBytes, b.diskUsedBytes),
    diskTotalBytes: sum(a.diskTotalBytes, b.diskTotalBytes),
    blocks: sum(a.blocks, b.blocks),
    progress: (a.progress?.lastBlock ?? -1) >= (b.progress?.lastBlock ?? -1) ? (a.progress ?? b.progress) : b.progress,
    rpcRequests: sum(a.rpcRequests, b.rpcRequests),
    rpcFailures: sum(a.rpcFailures, b.rpcFailures),
  }
}

const sum = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0)
