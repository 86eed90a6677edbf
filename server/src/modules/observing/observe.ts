import type { WorkerApp } from '../../app.ts'
import { every } from '../../db/every.ts'
import { measured } from '../../health/loops.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import { observeApis } from './probing/observe-apis.ts'
import { createConnectionCheck, limitConnections, observeDatabases, watches } from '../databases/index.ts'
import { createContainerReader } from './containers/container-reader.ts'
import { createKnownHeads } from './sources/known-heads.ts'
import { observeProcessors } from './probing/observe-processors.ts'
import { FairRounds } from './probing/fair-rounds.ts'
import { createTurns } from './probing/turns.ts'
import { createSourceObserver } from './sources/observe-sources.ts'
import { loadObservationCache, type ObservationCache } from './observation-cache.ts'

/** The interval of each loop. Tests use shorter ones. */
export type ObservationIntervals = {
  containersMs: number
  processorsMs: number
  apisMs: number
  databasesMs: number
  statementsMs: number
  locksMs: number
  notificationsMs: number
  headsMs: number
  sourcesMs: number
}

const defaultIntervals: ObservationIntervals = {
  containersMs: 1_000,
  processorsMs: 3_000,
  apisMs: 5_000,
  databasesMs: 30_000,
  statementsMs: 5_000,
  // Less than a session needs to fill the lock table of the embedded Postgres.
  locksMs: 250,
  notificationsMs: 1_000,
  headsMs: 5_000,
  sourcesMs: 10_000,
}

/**
 * Of each kind, up to 600 programs are probed in a second: an eighth of a core. `maxIntervalMs` is short enough for the samples of metrics,
 * which ignore states that are older than 45 s, since unchanged states are stored only every 30 s.
 */
const turnLimits = { maxPerSecond: 600, maxIntervalMs: 15_000 }

/** A round of probes waits this long for slow programs. */
const maxRoundMs = 1_000

/** The loops that `startObserving` runs. */
export type Observing = LeaderHandle & {
  /** Milliseconds since all containers were last recorded; null if they never were. */
  observationAgeMs: () => number | null
}

/** Records the observations of every version: its containers, processors, apis and databases. Only one worker at a time does this. */
export function startObserving(app: WorkerApp, intervals: ObservationIntervals = defaultIntervals): Observing {
  let recordedMs: number | null = null
  const recordContainers = async (
    cache: ObservationCache,
    readContainers: ReturnType<typeof createContainerReader>,
  ) => {
    await cache.recordContainers(await readContainers())
    recordedMs = performance.now()
  }
  const leader = runAsLeader(app.database, app.log, 'observing', async (_, signal) => {
    const cache = await loadObservationCache(app)
    const heads = createKnownHeads(app)
    const readContainers = createContainerReader(app, cache, heads.headOf)
    const checkConnections = createConnectionCheck(app)
    const lockWatch = watches.ofLocks(app)
    const { processorsMs, apisMs } = intervals
    const apiRoundMs = Math.min(intervals.containersMs, apisMs)
    const apiTurns = createTurns({ ...turnLimits, roundMs: apiRoundMs, intervalMs: apisMs })
    const processorTurns = createTurns({ ...turnLimits, roundMs: processorsMs, intervalMs: processorsMs })
    const [apiRounds, processorRounds] = [new FairRounds(app, maxRoundMs), new FairRounds(app, maxRoundMs)]
    // A failed round changes nothing; the next round runs as usual.
    const logFailure = (error: unknown) => app.log.warn({ err: error }, 'observing the versions failed')
    const repeat = (name: string, ms: number, work: () => Promise<void>) =>
      every(signal, { ms, onError: logFailure }, measured(app, name, ms, work))
    await Promise.all([
      repeat('containers', intervals.containersMs, () => recordContainers(cache, readContainers)),
      repeat('apis', apiRoundMs, () => observeApis(app, cache, apiTurns, apiRounds)),
      repeat('processors', processorsMs, () =>
        observeProcessors(app, cache, heads.headOf, processorTurns, processorRounds),
      ),
      repeat('databases', intervals.databasesMs, () => observeDatabases(app)),
      repeat('connection limits', intervals.databasesMs, () => limitConnections(app)),
      repeat('connections', intervals.databasesMs, checkConnections),
      repeat('statements', intervals.statementsMs, watches.ofStatements(app)),
      repeat('shared catalogs', intervals.statementsMs, watches.ofCatalogs(app)),
      repeat('locks', intervals.locksMs, lockWatch.round),
      repeat('notifications', intervals.notificationsMs, watches.ofNotifications(app)),
      repeat('heads', intervals.headsMs, heads.refresh),
      repeat('data sources', intervals.sourcesMs, createSourceObserver(app, cache, heads)),
    ])
    await Promise.all([apiRounds.close(), processorRounds.close(), lockWatch.close()])
  })
  return { ...leader, observationAgeMs: () => (recordedMs === null ? null : performance.now() - recordedMs) }
}
