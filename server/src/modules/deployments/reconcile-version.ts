import type { Observation, WorkloadId } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { openWorkload, selectSquid, type SquidRow } from '../versions/index.ts'
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
 * `observed`: the workloads of the version in an earlier snapshot. With them, only workloads of this version are read, not all.
 */
export async function reconcileVersion(
  engine: EngineContext,
  squidId: number,
  observed: WorkloadId[] | null = null,
): Promise<void> {
  const { app } = engine
  const squid = await selectSquid(app.db, squidId)
  const desired = squid?.sealedWorkload ? workloadIdOf(squidId, squid.generation) : null
  const known = squid && observed && [...observed, ...usedWorkloads(squid)]
  await removeOtherWorkloads(engine, squidId, desired === null ? [] : [desired], known)
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

/** The workloads that deployments of the version have used. */
const usedWorkloads = ({ id, generationsUsed }: SquidRow): WorkloadId[] =>
  Array.from({ length: generationsUsed }, (_, index) => workloadIdOf(id, index + 1))

/**
 * Removes all generations of the version except `keep`, and waits until their containers no longer exist. `known`: the only workloads that
 * the version may have; without them, all workloads are read.
 */
export async function removeOtherWorkloads(
  engine: EngineContext,
  squidId: number,
  keep: WorkloadId[],
  known: WorkloadId[] | null = null,
): Promise<void> {
  const { app, snapshots, pollMs, signal } = engine
  const listAll = async () =>
    known ? existingWorkloads(await snapshots.of(...known)) : (await snapshots.all()).generationsOf(squidId)
  const findOthers = async () => (await listAll()).filter((id) => !keep.includes(id))
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

const existingWorkloads = (observations: Observation[]): WorkloadId[] => [
  ...new Set(observations.map(({ workload }) => workload)),
]
