import type { Observation, ContainerUsage } from '@shoal/runtime'
import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { databaseResources } from '../../databases/index.ts'
import { parseWorkloadId, workloadIdOf } from '../../manifest/index.ts'
import {
  selectContainerTotals,
  selectProcessorProgress,
  type ContainerTotals,
  type ProcessorProgress,
} from '../../observing/index.ts'
import { forEachInSlices } from '../../../collections/slices.ts'
import type { DatabaseMeter, DatabaseUsage } from './database-usage.ts'
import { gapMs, type CounterReading } from './sample.ts'
import { selectDatabases } from './sample-store.ts'

/** Reads the counters of every container that may run, and of every database. */
export async function readAllCounters(
  app: WorkerApp,
  client: ClientBase,
  meters: ReadonlyMap<string, DatabaseMeter>,
): Promise<CounterReading[]> {
  const [observed, usage, totals, processors] = await Promise.all([
    app.runtime.observe(),
    app.runtime.usage(),
    selectContainerTotals(app.db),
    selectProcessorProgress(app.db),
  ])
  const usageOf = new Map<string, ContainerUsage>()
  await forEachInSlices(usage, (u) => usageOf.set(`${u.workload}/${u.container}`, u))
  const countsOf = new Map<string, ContainerTotals>()
  await forEachInSlices(totals, (t) => countsOf.set(`${workloadIdOf(t.squidId, t.generation)}/${t.container}`, t))
  const stateOf = new Map<string, ProcessorProgress>()
  await forEachInSlices(processors, (p) => stateOf.set(`${workloadIdOf(p.squidId, p.generation)}/${p.processor}`, p))
  const nowMs = app.clock.now().getTime()
  const readings: CounterReading[] = []
  await forEachInSlices(observed, (observation) => {
    const key = `${observation.workload}/${observation.container}`
    const context = {
      usage: usageOf.get(key),
      counts: countsOf.get(key),
      state: freshStateOf(observation, stateOf.get(key), nowMs),
    }
    const reading = readContainer(observation, context, nowMs)
    if (reading) readings.push(reading)
  })
  return [...readings, ...(await readDatabases(app, client, meters, nowMs))]
}

type ContainerContext = {
  usage: ContainerUsage | undefined
  counts: ContainerTotals | undefined
  state: ProcessorProgress | null
}

/** Returns null for workloads that are not versions, and for finished containers, which no longer use anything. */
function readContainer(
  observation: Observation,
  { usage, counts, state }: ContainerContext,
  nowMs: number,
): CounterReading | null {
  const id = parseWorkloadId(observation.workload)
  if (!id || observation.state === 'finished') return null
  return {
    ...id,
    container: observation.container,
    run: usage?.run ?? null,
    atMs: usage?.at.getTime() ?? nowMs,
    cpuSeconds: usage?.cpuSeconds ?? null,
    throttledSeconds: usage?.throttledSeconds ?? null,
    cpuLimitCores: usage?.cpuLimitCores ?? null,
    memoryBytes: usage?.memoryBytes ?? null,
    memoryLimitBytes: usage?.memoryLimitBytes ?? null,
    oomKills: counts ? oomKillsOf(usage, counts) : null,
    // `restarts` increases only after the back-off, but the crash is counted immediately.
    crashes: counts ? counts.restarts + (counts.state === 'backoff' ? 1 : 0) : null,
    diskUsedBytes: null,
    diskTotalBytes: null,
    lastBlock: state?.currentBlock ?? null,
    rpcRequests: state?.rpcRequests ?? null,
    rpcFailures: state?.rpcFailures ?? null,
    progress: state && {
      lastBlock: state.currentBlock,
      chainHeight: state.totalBlocks,
      syncRatio: state.syncRatio,
      etaSeconds: state.etaSeconds,
      blocksPerSecond: state.blocksPerSecond,
    },
  }
}

/** Returns the kills of all runs, including the current one; null while the previous run has not been counted. */
function oomKillsOf(usage: ContainerUsage | undefined, { run, runEnd, oomKills }: ContainerTotals): number | null {
  if (!usage) return oomKills
  if (usage.run !== run) return null
  return oomKills + (runEnd === null ? (usage.oomKills ?? 0) : 0)
}

/** Returns the processor's values if it responds and has processed a block, else null. */
function freshStateOf(
  observation: Observation,
  state: ProcessorProgress | undefined,
  nowMs: number,
): ProcessorProgress | null {
  const isFresh = state && !state.isUnanswered && nowMs - state.scrapedAtMs <= gapMs
  return isFresh && observation.state === 'running' && state.currentBlock >= 0 ? state : null
}

/** Reads the counters of databases, as containers named `db`. Omits the databases of servers that do not respond. */
async function readDatabases(
  app: WorkerApp,
  client: ClientBase,
  meters: ReadonlyMap<string, DatabaseMeter>,
  atMs: number,
): Promise<CounterReading[]> {
  const databases = await selectDatabases(client)
  if (databases.length === 0) return []
  const byServer = Map.groupBy(databases, ({ server }) => server)
  const readings = await Promise.all(
    [...byServer].map(async ([server, rows]) => {
      try {
        const usage = await meters.get(server)?.measure(rows.map(({ database }) => database))
        return readingsOf(rows, usage ?? null, atMs)
      } catch (error) {
        app.log.warn({ err: error, server }, 'failed to measure the databases of versions')
        return []
      }
    }),
  )
  return readings.flat()
}

type DatabaseRow = Awaited<ReturnType<typeof selectDatabases>>[number]

const readingsOf = (rows: DatabaseRow[], usage: Map<string, DatabaseUsage> | null, atMs: number): CounterReading[] =>
  rows.map(({ squidId, database, profile, usedBytes, totalBytes }) => ({
    squidId,
    generation: 0,
    container: 'db',
    run: null,
    atMs,
    cpuSeconds: usage?.get(database)?.cpuSeconds ?? null,
    throttledSeconds: null,
    cpuLimitCores: databaseResources(profile).cpuCores,
    memoryBytes: usage?.get(database)?.memoryBytes ?? null,
    memoryLimitBytes: databaseResources(profile).memoryBytes,
    oomKills: 0,
    crashes: 0,
    diskUsedBytes: usedBytes,
    diskTotalBytes: totalBytes,
    lastBlock: null,
    rpcRequests: null,
    rpcFailures: null,
    progress: null,
  }))
