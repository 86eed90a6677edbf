import type { WorkerApp } from '../../app.ts'
import { every } from '../../db/every.ts'
import { startLeading, type Leading } from '../../db/leases.ts'
import { observeApis } from './observe-apis.ts'
import { connectionWatch } from './connections.ts'
import { createJudgingLook } from './judge-ends.ts'
import { createKnownHeads } from './known-heads.ts'
import { observeDatabases } from './observe-databases.ts'
import { observeProcessors } from './observe-processors.ts'
import { createSourceLook } from './observe-sources.ts'
import { readSeen, type Seen } from './seen.ts'

/** How often is looked. Tests cannot wait as long. */
export type ObservingPace = {
  containersMs: number
  processorsMs: number
  apisMs: number
  databasesMs: number
  headsMs: number
  sourcesMs: number
}

const defaultPace: ObservingPace = {
  containersMs: 1_000,
  processorsMs: 3_000,
  apisMs: 5_000,
  databasesMs: 30_000,
  headsMs: 5_000,
  sourcesMs: 10_000,
}

export type Observing = Leading & {
  /** How long ago it last wrote down what it saw of all containers, in milliseconds; null when it has not yet. */
  lastLookMs: () => number | null
}

/** Writes down what is true of every version: its containers, processors, apis and databases. One worker at a time does it. */
export function startObserving(app: WorkerApp, pace: ObservingPace = defaultPace): Observing {
  let lookedMs: number | null = null
  const noteContainers = async (seen: Seen, look: ReturnType<typeof createJudgingLook>) => {
    await seen.noteContainers(await look())
    lookedMs = performance.now()
  }
  const leading = startLeading(app.database, app.log, 'observing', async (_, signal) => {
    const seen = await readSeen(app)
    const heads = createKnownHeads(app)
    const look = createJudgingLook(app, seen, heads.headOf)
    const watchConnections = connectionWatch(app)
    let fullRoundMs = 0
    const probe = async () => {
      const isFullRound = performance.now() >= fullRoundMs
      if (isFullRound) fullRoundMs = performance.now() + pace.apisMs
      await observeApis(app, seen, isFullRound)
    }
    // One failed look changes nothing: the next one comes.
    const failed = (error: unknown) => app.log.warn({ err: error }, 'a look at the versions failed')
    const repeat = (ms: number, work: () => Promise<void>) => every(signal, { ms, failed }, work)
    await Promise.all([
      repeat(pace.containersMs, () => noteContainers(seen, look)),
      repeat(Math.min(pace.containersMs, pace.apisMs), probe),
      repeat(pace.processorsMs, () => observeProcessors(app, seen, heads.headOf)),
      repeat(pace.databasesMs, () => observeDatabases(app)),
      repeat(pace.databasesMs, watchConnections),
      repeat(pace.headsMs, heads.look),
      repeat(pace.sourcesMs, createSourceLook(app, seen, heads)),
    ])
  })
  return { ...leading, lastLookMs: () => (lookedMs === null ? null : performance.now() - lookedMs) }
}
