import type { Observation, ContainerUsage } from '@shoal/runtime'
import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { databaseResources } from '../../databases/index.ts'
import { parseWorkloadId, workloadIdOf } from '../../manifest/index.ts'
import {
  selectContainerStates,
  selectProcessorStates,
  type ContainerRow,
  type ProcessorRow,
} from '../../observing/index.ts'
import type { DatabaseMeter } from './database-usage.ts'
import { gapMs, type CounterReading } from './sample.ts'
import { selectDatabases } from './sample-store.ts'

/** Reads the counters of every container that may run, and of every database. */
export async function readAllCounters(
  app: WorkerApp,
  client: ClientBase,
  meter: DatabaseMeter,
): Promise<CounterReading[]> {
  const [observed, usage, states, processors] = await Promise.all([
    app.runtime.observe(),
    app.runtime.usage(),
    selectContainerStates(app.db),
    selectProcessorStates(app.db),
  ])
  const usageOf = new Map(usage.map((u) => [`${u.workload}/${u.container}`, u]))
  const countsOf = new Map(states.map((s) => [`${workloadIdOf(s.squidId, s.generation)}/${s.container}`, s]))
  const stateOf = new Map(processors.map((p) => [`${p.squidId}.${p.generation}/${p.processor}`, p]))
  const nowMs = app.clock.now().getTime()
  const containers = observed.flatMap((o) => {
    const key = `${o.workload}/${o.container}`
    const context = {
      usage: usageOf.get(key),
      counts: countsOf.get(key),
      state: freshStateOf(o, stateOf.get(key), nowMs),
    }
    return readContainer(o, context, nowMs) ?? []
  })
  return [...containers, ...(await readDatabases(app, client, meter, nowMs))]
}

type Known = { usage: ContainerUsage | undefined; counts: ContainerRow | undefined; state: ProcessorRow | null }

/** Null for other workloads, and for finished containers, which use nothing any more and are no gap either. */
function readContainer(o: Observation, { usage, counts, state }: Known, nowMs: number): CounterReading | null {
  const id = parseWorkloadId(o.workload)
  if (!id || o.state === 'finished') return null
  return {
    ...id,
    container: o.container,
    run: usage?.run ?? null,
    atMs: usage?.at.getTime() ?? nowMs,
    cpuSeconds: usage?.cpuSeconds ?? null,
    throttledSeconds: usage?.throttledSeconds ?? null,
    cpuLimitCores: usage?.cpuLimitCores ?? null,
    memoryBytes: usage?.memoryBytes ?? null,
    memoryLimitBytes: usage?.memoryLimitBytes ?? null,
    oomKills: counts ? oomKillsOf(usage, counts) : null,
    // A restart is counted when it happens, but the crash before it already during the back-off.
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

/** Over all runs including the current one. Null while the previous run has not been counted. */
function oomKillsOf(usage: ContainerUsage | undefined, { run, runEnd, oomKills }: ContainerRow): number | null {
  if (!usage) return oomKills
  if (usage.run !== run) return null
  return oomKills + (runEnd === null ? (usage.oomKills ?? 0) : 0)
}

/** The processor's values are used while it responds, and once it has processed a block. */
function freshStateOf(o: Observation, state: ProcessorRow | undefined, nowMs: number): ProcessorRow | null {
  const isFresh = state && !state.unansweredSince && nowMs - state.scrapedAt.getTime() <= gapMs
  return isFresh && o.state === 'running' && state.currentBlock >= 0 ? state : null
}

/** As container `db`. None while their Postgres does not respond. */
async function readDatabases(
  app: WorkerApp,
  client: ClientBase,
  meter: DatabaseMeter,
  atMs: number,
): Promise<CounterReading[]> {
  const databases = await selectDatabases(client)
  if (databases.length === 0) return []
  const usage = await meter.measure(databases.map((row) => row.database)).catch((error: unknown) => {
    app.log.warn({ err: error }, 'failed to measure the databases of versions')
    return undefined
  })
  if (usage === undefined) return []
  return databases.map(({ squidId, database, profile, usedBytes, totalBytes }) => ({
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
}
