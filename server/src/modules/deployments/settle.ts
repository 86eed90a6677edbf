import type { WorkloadId } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { workloadIdOf } from '../manifest/index.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import { until } from './wait.ts'

/** What it takes to move containers. */
export type EngineContext = { app: WorkerApp; snapshots: SnapshotReader; pollMs: number; signal: AbortSignal }

/**
 * Brings what runs of a version to what its row wants: every other generation goes, then the wanted one is made so (one
 * writer at a time). The end of every failure, of every switch, and what the reconcile loop does. Whoever calls it holds the
 * version's lock.
 */
export async function reconcileVersion(engine: EngineContext, squidId: number): Promise<void> {
  const squid = await selectSquid(engine.app.db, squidId)
  const wanted = squid?.sealedWorkload ? workloadIdOf(squidId, squid.generation) : null
  await removeOthers(engine, squidId, wanted === null ? [] : [wanted])
  if (squid?.sealedWorkload)
    await engine.app.runtime.apply(openWorkload(engine.app.sealer, squidId, squid.sealedWorkload))
}

/** Nothing of the version's other generations runs afterwards. */
export async function removeOthers(engine: EngineContext, squidId: number, keep: WorkloadId[]): Promise<void> {
  const { app, snapshots, pollMs, signal } = engine
  await until(
    async () => {
      const others = (await snapshots()).generationsOf(squidId).filter((id) => !keep.includes(id))
      for (const id of others) await app.runtime.remove(id)
      return others.length === 0 ? 'gone' : null
    },
    pollMs,
    signal,
  )
}
