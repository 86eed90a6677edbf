/**
 * Counters of a container, as they were when it was last sampled. CPU is of `run` alone and begins at 0 with each; crashes and kills
 * are of all runs.
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

/** What a processor says of itself. */
export type Progress = {
  lastBlock: number
  chainHeight: number
  syncRatio: number | null
  etaSeconds: number | null
  blocksPerSecond: number | null
}

/** A container as it is now. Null: cannot be known here. */
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

/** What is stored of one look: sums over the time since the look before, and the state it found. */
export type Sample = {
  squidId: number
  container: string
  /** 0 when it was not looked at for a while: then nothing is known of that time. */
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

/** Longer between two looks is a gap. */
export const gapMs = 45_000

/**
 * Times and sizes are of the time since `before`, and unknown after a gap. What is counted (crashes, kills, blocks, requests) is
 * counted once whenever it is noticed, so that sums over days are right. `blockBefore`: where the version's processor was last
 * seen, in whatever generation.
 */
export function sampleOf(look: CounterReading, before: Counters | undefined, blockBefore: number | null): Sample {
  const elapsedMs = before ? look.atMs - before.atMs : 0
  const observedSeconds = elapsedMs > 0 && elapsedMs <= gapMs ? elapsedMs / 1000 : 0
  // What is left of a run that ended is lost with it; of the one after it nothing is.
  const isNewRun = before?.run != null && look.run !== before.run
  const spent = (now: number | null, then: number | null | undefined) =>
    observedSeconds === 0 ? null : grownBy(now, isNewRun ? 0 : (then ?? null))
  const cpuSeconds = spent(look.cpuSeconds, before?.cpuSeconds)
  const { squidId, container, memoryBytes, cpuLimitCores } = look
  return {
    squidId,
    container,
    observedSeconds,
    cpuSeconds,
    cpuLimitSeconds: cpuSeconds === null || cpuLimitCores === null ? null : cpuLimitCores * observedSeconds,
    throttledSeconds: spent(look.throttledSeconds, before?.throttledSeconds),
    memoryByteSeconds: memoryBytes === null || observedSeconds === 0 ? null : memoryBytes * observedSeconds,
    memoryPeakBytes: memoryBytes,
    memoryLimitBytes: look.memoryLimitBytes,
    oomKills: counted(look.oomKills, before?.oomKills) ?? 0,
    crashes: counted(look.crashes, before?.crashes) ?? 0,
    diskUsedBytes: look.diskUsedBytes,
    diskTotalBytes: look.diskTotalBytes,
    blocks: grownBy(look.lastBlock, blockBefore) ?? (look.lastBlock === null ? null : 0),
    progress: look.progress,
    rpcRequests: counted(look.rpcRequests, before?.rpcRequests ?? undefined),
    rpcFailures: counted(look.rpcFailures, before?.rpcFailures ?? undefined),
  }
}

/** What to count the next look from: what is not known now is as it was known last. */
export function countersOf(look: CounterReading, before: Counters | undefined): Counters {
  return {
    squidId: look.squidId,
    generation: look.generation,
    container: look.container,
    run: look.run,
    atMs: look.atMs,
    cpuSeconds: look.cpuSeconds,
    throttledSeconds: look.throttledSeconds,
    oomKills: look.oomKills ?? before?.oomKills ?? 0,
    crashes: look.crashes ?? before?.crashes ?? 0,
    lastBlock: look.lastBlock ?? before?.lastBlock ?? null,
    rpcRequests: look.rpcRequests ?? before?.rpcRequests ?? null,
    rpcFailures: look.rpcFailures ?? before?.rpcFailures ?? null,
  }
}

/** Null when one of them is not known, or when it began anew in between. */
const grownBy = (now: number | null, then: number | null): number | null =>
  now === null || then === null || now < then ? null : now - then

/** A counter that is lower than before began anew. */
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
