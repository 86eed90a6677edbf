import type { Observation, Usage } from '@shoal/runtime'
import type { ClientBase } from 'pg'
import type { WorkerApp } from '../../../app.ts'
import { databaseResources, parseWorkloadId, selectProcessorStates, type ProcessorRow } from '../../squids/index.ts'
import type { DatabaseMeter } from './database-usage.ts'
import { gapMs, type Look } from './sample.ts'
import { selectDatabases } from './sample-store.ts'

/** Looks at every container that may run, and at every database. */
export async function lookAtAll(app: WorkerApp, client: ClientBase, meter: DatabaseMeter): Promise<Look[]> {
  const [observed, usage, processors] = await Promise.all([
    app.runtime.observe(),
    app.runtime.usage(),
    selectProcessorStates(app.db),
  ])
  const usageOf = new Map(usage.map((u) => [`${u.workload}/${u.container}`, u]))
  const stateOf = new Map(processors.map((p) => [`${p.squidId}.${p.generation}/${p.processor}`, p]))
  const nowMs = app.clock.now().getTime()
  const containers = observed.flatMap((o) => {
    const key = `${o.workload}/${o.container}`
    return lookAt(o, usageOf.get(key), freshStateOf(o, stateOf.get(key), nowMs)) ?? []
  })
  return [...containers, ...(await lookAtDatabases(app, client, meter, nowMs))]
}

/** Null for what is not a version's, and for what has finished: it uses nothing any more and is no gap either. */
function lookAt(o: Observation, usage: Usage | undefined, state: ProcessorRow | null): Look | null {
  const id = parseWorkloadId(o.workload)
  if (!id || !usage || o.state === 'finished') return null
  return {
    ...id,
    container: o.container,
    atMs: usage.at.getTime(),
    cpuSeconds: usage.cpuSeconds,
    throttledSeconds: usage.throttledSeconds,
    cpuLimitCores: usage.cpuLimitCores,
    memoryBytes: usage.memoryBytes,
    memoryLimitBytes: usage.memoryLimitBytes,
    oomKills: usage.oomKills,
    // A restart is counted when it happens, the crash before it already while it waits for that.
    crashes: o.restarts + (o.state === 'backoff' ? 1 : 0),
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

/** What the processor said is believed as long as it answers, and once it has come to a block at all. */
function freshStateOf(o: Observation, state: ProcessorRow | undefined, nowMs: number): ProcessorRow | null {
  const isFresh = state && !state.unansweredSince && nowMs - state.scrapedAt.getTime() <= gapMs
  return isFresh && o.state === 'running' && state.currentBlock >= 0 ? state : null
}

/** As container `db`. Nothing is known of any while their Postgres does not answer. */
async function lookAtDatabases(
  app: WorkerApp,
  client: ClientBase,
  meter: DatabaseMeter,
  atMs: number,
): Promise<Look[]> {
  const databases = await selectDatabases(client)
  if (databases.length === 0) return []
  const usage = await meter.measure(databases.map((row) => row.database)).catch((error: unknown) => {
    app.log.warn({ err: error }, 'the databases of versions cannot be measured')
    return undefined
  })
  if (usage === undefined) return []
  return databases.map(({ squidId, database, profile, usedBytes, totalBytes }) => ({
    squidId,
    generation: 0,
    container: 'db',
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
