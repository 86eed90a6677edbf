import type { WorkloadId } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { workloadIdOf } from '../manifest/index.ts'
import { logins } from '../databases/index.ts'
import { abandonLost, closeLostLogins, closeMissingLogins, openOnlyLogins, renewLogins } from './processor-logins.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import { pollUntil } from './wait.ts'

/** The dependencies of functions that reconcile containers. */
export type EngineContext = { app: WorkerApp; snapshots: SnapshotReader; pollMs: number; signal: AbortSignal }

/**
 * Makes the containers of a version match its row: removes every other generation, then applies the desired one, so that only one
 * generation writes at a time. Used by the reconcile loop, and at the end of deployments. The caller holds the version's lock.
 */
export async function reconcileVersion(engine: EngineContext, squidId: number): Promise<void> {
  const { app } = engine
  const squid = await selectSquid(app.db, squidId)
  const desired = squid?.sealedWorkload ? workloadIdOf(squidId, squid.generation) : null
  await removeOtherWorkloads(engine, squidId, desired === null ? [] : [desired])
  if (squid?.sealedWorkload) {
    const id = workloadIdOf(squidId, squid.generation)
    const lostProcessors = await closeLostLogins(engine, squidId, id)
    await closeMissingLogins(engine, squidId, id)
    const workload = await renewLogins(app, squidId, openWorkload(app.sealer, squidId, squid.sealedWorkload))
    await openOnlyLogins(app, squidId, workload.id)
    await app.runtime.apply(workload)
    // Abandons these only now, because abandoned programs start again immediately, with the environment that was applied.
    for (const container of lostProcessors) await app.runtime.abandon(workload.id, container)
  } else await openOnlyLogins(app, squidId, null)
  if (!app.runtime.ownsHost) await logins.dropClosed(app, squidId)
}

/** Removes all generations of the version except `keep`, and waits until their containers no longer exist. */
export async function removeOtherWorkloads(engine: EngineContext, squidId: number, keep: WorkloadId[]): Promise<void> {
  const { app, snapshots, pollMs, signal } = engine
  const findOthers = async () => (await snapshots.all()).generationsOf(squidId).filter((id) => !keep.includes(id))
  for (let others = await findOthers(); others.length > 0; others = await findOthers())
    await pollUntil(
      async () => {
        for (const id of others) {
          await app.runtime.remove(id)
          await abandonLost(engine, squidId, id)
        }
        return (await snapshots.of(...others)).length === 0 ? 'removed' : null
      },
      pollMs,
      signal,
    )
}
