import type { WorkloadId } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { workloadIdOf } from '../manifest/index.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import { pollUntil } from './wait.ts'

/** The dependencies of functions that reconcile containers. */
export type EngineContext = { app: WorkerApp; snapshots: SnapshotReader; pollMs: number; signal: AbortSignal }

/**
 * Makes the containers of a version match its row: removes every other generation, then applies the desired one, so that only one
 * generation writes at a time. Used by the reconcile loop, and at the end of deployments. The caller holds the version's lock.
 */
export async function reconcileVersion(engine: EngineContext, squidId: number): Promise<void> {
  const squid = await selectSquid(engine.app.db, squidId)
  const desired = squid?.sealedWorkload ? workloadIdOf(squidId, squid.generation) : null
  await removeOtherWorkloads(engine, squidId, desired === null ? [] : [desired])
  if (squid?.sealedWorkload)
    await engine.app.runtime.apply(openWorkload(engine.app.sealer, squidId, squid.sealedWorkload))
}

/** Removes all generations of the version except `keep`, and waits until their containers no longer exist. */
export async function removeOtherWorkloads(engine: EngineContext, squidId: number, keep: WorkloadId[]): Promise<void> {
  const { app, snapshots, pollMs, signal } = engine
  await pollUntil(
    async () => {
      const others = (await snapshots()).generationsOf(squidId).filter((id) => !keep.includes(id))
      for (const id of others) await app.runtime.remove(id)
      return others.length === 0 ? 'removed' : null
    },
    pollMs,
    signal,
  )
}
