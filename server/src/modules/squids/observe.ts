import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../app.ts'
import { startLeading, type Leading } from '../../db/leader.ts'
import { observeApis } from './observe-apis.ts'
import { containerKey, lookAtContainers, noteContainers } from './observe-containers.ts'
import { observeDatabases } from './observe-databases.ts'
import { observeProcessors } from './observe-processors.ts'
import { selectObservations, type ApiRow, type ContainerRow, type ProcessorRow } from './observe-store.ts'

/** How often is looked. Tests cannot wait as long. */
export type ObservingPace = { containersMs: number; processorsMs: number; apisMs: number; databasesMs: number }

const defaultPace: ObservingPace = { containersMs: 1_000, processorsMs: 3_000, apisMs: 5_000, databasesMs: 30_000 }

/** What was last written, so that only changes are. */
type Known = {
  containers: Map<string, ContainerRow>
  processors: Map<string, ProcessorRow>
  apis: Map<string, ApiRow>
}

/** Writes down what is true of every version: its containers, processors, apis and databases. One worker at a time does it. */
export function startObserving(app: App, pace: ObservingPace = defaultPace): Leading {
  return startLeading(app.database, app.log, 'observing', async (_, signal) => {
    const known = await readKnown(app)
    let nextApisMs = 0
    await Promise.all([
      repeat(app, signal, pace.containersMs, async () => {
        await noteContainers(app, known.containers, await lookAtContainers(app.driver))
        forgetGone(known)
      }),
      repeat(app, signal, Math.min(pace.containersMs, pace.apisMs), async () => {
        const isFullRound = performance.now() >= nextApisMs
        if (isFullRound) nextApisMs = performance.now() + pace.apisMs
        await observeApis(app, known.containers, known.apis, isFullRound)
      }),
      repeat(app, signal, pace.processorsMs, () => observeProcessors(app, known.containers, known.processors)),
      repeat(app, signal, pace.databasesMs, () => observeDatabases(app)),
    ])
  })
}

async function readKnown(app: App): Promise<Known> {
  const { containers, processors, apis } = await selectObservations(app.db)
  return {
    containers: new Map(containers.map((row) => [containerKey(row), row])),
    processors: new Map(processors.map((row) => [containerKey({ ...row, container: row.processor }), row])),
    apis: new Map(apis.map((row) => [containerKey(row), row])),
  }
}

/** Their rows went with the container's. */
function forgetGone({ containers, processors, apis }: Known): void {
  for (const states of [processors, apis]) for (const key of states.keys()) if (!containers.has(key)) states.delete(key)
}

/** One failed look changes nothing: the next one comes. */
async function repeat(app: App, signal: AbortSignal, everyMs: number, look: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await look().catch((error: unknown) => {
      if (!signal.aborted) app.log.warn({ err: error }, 'a look at the versions failed')
    })
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}
