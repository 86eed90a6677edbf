/**
 * Counters of a container at its last sample. CPU counters are those of `run` alone and start at 0 with each run;
 * crashes and kills are those of all runs.
 */
export type Counters = {
  squidId: number
  generation: number
  container: string
  /** Null if the container has not run, or is a database, which has no runs. */
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

/** The counters and the current state of a container, as read at `atMs`. Null means unknown. */
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

/** The values that are stored for a reading: sums over the time since the previous reading, and the current state. */
export type Sample = {
  squidId: number
  container: string
  /** 0 after a gap in readings, since the usage during the gap is unknown. */
  observedSeconds: number
  cpuSeconds: number | null
  cpuLimitSeconds: number | null
  throttledSeconds: number | null
  memoryByteSeconds: number | null
  /** The memory at the time of the reading; longer buckets contain the maximum. */
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

/** Two readings that are further apart than this have a gap between them. */
export const gapMs = 45_000

/**
 * Computes the sample of a reading. The `…Seconds` cover the time since `before`; after a gap, `observedSeconds` is 0 and the others
 * are null. Sizes (`…Bytes`) are those at the time of the reading. Events (crashes, kills, blocks, requests) are counted exactly once, when they are first
 * observed, so that sums over days are correct. `blockBefore` is the last known block of the processor, in this or an earlier generation.
 */
export function sampleOf(reading: CounterReading, before: Counters | undefined, blockBefore: number | null): Sample {
  const observedSeconds = before ? secondsBetween(before.atMs, reading.atMs) : 0
  const { cpuSeconds, throttledSeconds } = usageOfRun(reading, before, observedSeconds)
  const overTime = (value: number | null) => (value === null || observedSeconds === 0 ? null : value * observedSeconds)
  const { squidId, container, memoryBytes, cpuLimitCores } = reading
  return {
    squidId,
    container,
    observedSeconds,
    cpuSeconds,
    cpuLimitSeconds: cpuSeconds === null ? null : overTime(cpuLimitCores),
    throttledSeconds,
    memoryByteSeconds: overTime(memoryBytes),
    memoryPeakBytes: memoryBytes,
    memoryLimitBytes: reading.memoryLimitBytes,
    oomKills: newEvents(reading.oomKills, before?.oomKills) ?? 0,
    crashes: newEvents(reading.crashes, before?.crashes) ?? 0,
    diskUsedBytes: reading.diskUsedBytes,
    diskTotalBytes: reading.diskTotalBytes,
    blocks: increase(reading.lastBlock, blockBefore) ?? (reading.lastBlock === null ? null : 0),
    progress: reading.progress,
    rpcRequests: newEvents(reading.rpcRequests, before?.rpcRequests),
    rpcFailures: newEvents(reading.rpcFailures, before?.rpcFailures),
  }
}

/** Returns the observed time between two samples; 0 if the later one is not later, or after a longer gap. */
const secondsBetween = (fromMs: number, toMs: number): number =>
  toMs > fromMs && toMs - fromMs <= gapMs ? (toMs - fromMs) / 1000 : 0

/**
 * Returns the CPU usage since the last sample; null if it is unknown. The usage of an ended run since its last reading is lost; the next
 * run is counted from its start.
 */
function usageOfRun(
  reading: CounterReading,
  before: Counters | undefined,
  observedSeconds: number,
): Pick<Sample, 'cpuSeconds' | 'throttledSeconds'> {
  if (!before || observedSeconds === 0) return { cpuSeconds: null, throttledSeconds: null }
  const isNewRun = before.run !== null && reading.run !== before.run
  const start = isNewRun ? { cpuSeconds: 0, throttledSeconds: 0 } : before
  return {
    cpuSeconds: increase(reading.cpuSeconds, start.cpuSeconds),
    throttledSeconds: increase(reading.throttledSeconds, start.throttledSeconds),
  }
}

/**
 * Returns the counters to compare the next reading with. Unknown totals keep their last known value. The CPU counters do not, because
 * they belong to one run.
 */
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

/** Returns the increase of a counter; null if a value is unknown, or if the counter was reset in between. */
const increase = (current: number | null, previous: number | null): number | null =>
  current === null || previous === null || current < previous ? null : current - previous

/** Returns the increase of an event counter. A counter that is lower than before was reset, so all its events are new. */
const newEvents = (current: number | null, previous: number | null | undefined): number | null =>
  increase(current, previous ?? 0) ?? current

/** The samples of all containers, each with the sum over its generations. */
export type SamplesByContainer = Map<string, Sample>

/** Adds a sample to those of generations that run at the same time during an update: they count as one container. */
export function addSample(sums: SamplesByContainer, sample: Sample): void {
  const key = `${sample.squidId} ${sample.container}`
  const other = sums.get(key)
  sums.set(key, other ? addSamples(other, sample) : sample)
}

function addSamples(a: Sample, b: Sample): Sample {
  return {
    squidId: a.squidId,
    container: a.container,
    observedSeconds: Math.max(a.observedSeconds, b.observedSeconds),
    cpuSeconds: addNullable(a.cpuSeconds, b.cpuSeconds),
    cpuLimitSeconds: addNullable(a.cpuLimitSeconds, b.cpuLimitSeconds),
    throttledSeconds: addNullable(a.throttledSeconds, b.throttledSeconds),
    memoryByteSeconds: addNullable(a.memoryByteSeconds, b.memoryByteSeconds),
    memoryPeakBytes: addNullable(a.memoryPeakBytes, b.memoryPeakBytes),
    memoryLimitBytes: addNullable(a.memoryLimitBytes, b.memoryLimitBytes),
    oomKills: a.oomKills + b.oomKills,
    crashes: a.crashes + b.crashes,
    diskUsedBytes: addNullable(a.diskUsedBytes, b.diskUsedBytes),
    diskTotalBytes: addNullable(a.diskTotalBytes, b.diskTotalBytes),
    blocks: addNullable(a.blocks, b.blocks),
    progress: (a.progress?.lastBlock ?? -1) >= (b.progress?.lastBlock ?? -1) ? (a.progress ?? b.progress) : b.progress,
    rpcRequests: addNullable(a.rpcRequests, b.rpcRequests),
    rpcFailures: addNullable(a.rpcFailures, b.rpcFailures),
  }
}

const addNullable = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0)
