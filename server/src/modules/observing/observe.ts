import type { WorkerApp } from '../../app.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle } from '../../db/leases.ts'
import { observeApis } from './probing/observe-apis.ts'
import { connectionWatch, observeDatabases } from '../databases/index.ts'
import { createJudgingLook } from './containers/judge-ends.ts'
import { createKnownHeads } from './sources/known-heads.ts'
import { observeProcessors } from './probing/observe-processors.ts'
import { createSourceLook } from './sources/observe-sources.ts'
import { loadObservationCache, type ObservationCache } from './observation-cache.ts'

/** The interval of each loop. Tests use shorter ones. */
export type ObservationIntervals = {
  containersMs: number
  processorsMs: number
  apisMs: number
  databasesMs: number
  headsMs: number
  sourcesMs: number
}

const defaultIntervals: ObservationIntervals = {
  containersMs: 1_000,
  processorsMs: 3_000,
  apisMs: 5_000,
  databasesMs: 30_000,
  headsMs: 5_000,
  sourcesMs: 10_000,
}

export type Observing = LeaderHandle & {
  /** Milliseconds since all containers were last recorded; null before the first time. */
  lastObservationMs: () => number | null
}

/** Records the observations of every version: its containers, processors, apis and databases. One worker at a time does this. */
export function startObserving(app: WorkerApp, intervals: ObservationIntervals = defaultIntervals): Observing {
  let recordedMs: number | null = null
  const recordContainers = async (seen: ObservationCache, readAll: ReturnType<typeof createJudgingLook>) => {
    await seen.recordContainers(await readAll())
    recordedMs = performance.now()
  }
  const leading = runAsLeader(app.database, app.log, 'observing', async (_, signal) => {
    const seen = await loadObservationCache(app)
    const heads = createKnownHeads(app)
    const readAll = createJudgingLook(app, seen, heads.headOf)
    const watchConnections = connectionWatch(app)
    let fullRoundMs = 0
    const probe = async () => {
      const isFullRound = performance.now() >= fullRoundMs
      if (isFullRound) fullRoundMs = performance.now() + intervals.apisMs
      await observeApis(app, seen, isFullRound)
    }
    // A failed round changes nothing: the next one follows.
    const failed = (error: unknown) => app.log.warn({ err: error }, 'observing the versions failed')
    const repeat = (ms: number, work: () => Promise<void>) => every(signal, { ms, onError: failed }, work)
    await Promise.all([
      repeat(intervals.containersMs, () => recordContainers(seen, readAll)),
      repeat(Math.min(intervals.containersMs, intervals.apisMs), probe),
      repeat(intervals.processorsMs, () => observeProcessors(app, seen, heads.headOf)),
      repeat(intervals.databasesMs, () => observeDatabases(app)),
      repeat(intervals.databasesMs, watchConnections),
      repeat(intervals.headsMs, heads.look),
      repeat(intervals.sourcesMs, createSourceLook(app, seen, heads)),
    ])
  })
  return { ...leading, lastObservationMs: () => (recordedMs === null ? null : performance.now() - recordedMs) }
}
