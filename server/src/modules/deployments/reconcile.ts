import { mapConcurrently, type WorkloadId } from '@shoal/runtime'
import type { App, WorkerApp } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { every } from '../../db/every.ts'
import { measured } from '../../health/loops.ts'
import { runAsLeader, type LeaderHandle, type Locks } from '../../db/leases.ts'
import { dropOrphanedDatabases, reconcileDatabases } from '../databases/index.ts'
import { parseWorkloadId, workloadIdOf } from '../manifest/index.ts'
import { containerNames } from '../containers.ts'
import { countSquids, deleteSquid, listDesired, selectSquid, openWorkload } from '../versions/index.ts'
import { forEachInSlices } from '../../collections/slices.ts'
import { enqueue } from './enqueue.ts'
import type { RuntimeSnapshot } from './runtime-snapshot.ts'
import type { Worker } from './run-deployment.ts'
import { versionsOnLostHosts } from './processor-logins.ts'
import { reconcileVersion } from './reconcile-version.ts'
import { deleteOrg, lockOrg } from '../orgs/index.ts'
import {
  hasUnfinishedDeployment,
  listDeletedOrgs,
  listNeverDeployed,
  listRemovableOrgs,
  listVersionsOfDeletedOrgs,
  selectUnfinished,
  squidsInProgress,
  selectSealedWorkloads,
} from './store.ts'
import { inBatches } from '../../db/batches.ts'

/** Databases and rows that deletions left are removed once in this many rounds. */
const cleanUpEveryRounds = 20
/** The time limit for one version, so that a container that cannot be removed does not delay other versions. */
const reconcileTimeoutMs = 60_000
const maxConcurrent = 16
/** The time after a failed deletion of a version before the next attempt. */
const retryDeletionMs = minutes(1)

/**
 * Makes running containers match the desired state, for versions without a deployment in progress: starts missing containers and
 * removes all others. One worker at a time does this.
 */
export function startReconcile(worker: Worker, locks: Locks): LeaderHandle {
  const { app, intervals } = worker
  return runAsLeader(app.database, app.log, 'reconcile', async (_, signal) => {
    await recallWorkloads(app, signal)
    const reconciledServers = new Set<string>()
    warnOfOpenDatabases(app, await reconcileDatabases(app, reconciledServers))
    let round = 0
    const onError = (error: unknown) => app.log.warn({ err: error }, 'reconcile round failed')
    const runRound = measured(app, 'reconcile', intervals.reconcileMs, async () => {
      await reconcile(worker, locks, signal)
      await removeDeletedOrgs(app)
      if (round++ % cleanUpEveryRounds === 0) {
        await removeNeverDeployed(app)
        await removeTenantsOfDeletedOrgs(app)
        warnOfOpenDatabases(app, await reconcileDatabases(app, reconciledServers))
        await dropOrphanedDatabases(app)
      }
    })
    await every(signal, { ms: intervals.reconcileMs, onError }, runRound)
  })
}

/** Reconciles all versions once, except those with a deployment in progress. */
export async function reconcile(worker: Worker, locks: Locks, stopping: AbortSignal): Promise<void> {
  const { app } = worker
  // The snapshot is taken before the rows are read, so every version in it has a row unless it was deleted.
  const snapshot = await worker.snapshots.all()
  const desired = await listDesired(app.db)
  const inProgress = await squidsInProgress(app.db)
  const ids = [...(await driftedVersions(snapshot, desired)), ...(await versionsOnLostHosts(app, snapshot))]
  const drifted = [...new Set(ids)].filter((id) => !inProgress.has(id))
  await mapConcurrently(drifted, maxConcurrent, async (id) => {
    if (!stopping.aborted) await reconcileIfIdle(worker, locks, id, stopping, snapshot.generationsOf(id))
  })
}

/** Returns the versions with an undesired container or without a desired one. */
export async function driftedVersions(
  snapshot: RuntimeSnapshot,
  desired: Awaited<ReturnType<typeof listDesired>>,
): Promise<number[]> {
  const drifted = new Set<number>()
  const desiredWorkloads = new Set<WorkloadId>()
  await forEachInSlices(desired, (row) => {
    if (!row.hasWorkload) return
    const workload = workloadIdOf(row.id, row.generation)
    desiredWorkloads.add(workload)
    const existing = snapshot.containersOf(workload)
    const isMissing = (name: string) => !existing.some(({ container }) => container === name)
    if (containerNames(row).some(isMissing)) drifted.add(row.id)
  })
  await forEachInSlices(snapshot.workloads, (workload) => {
    const id = desiredWorkloads.has(workload) ? null : parseWorkloadId(workload)
    if (id) drifted.add(id.squidId)
  })
  return [...drifted]
}

/** Reconciles one version unless a deployment is in progress. `observed`: its workloads in an earlier snapshot. */
async function reconcileIfIdle(
  worker: Worker,
  locks: Locks,
  squidId: number,
  stopping: AbortSignal,
  observed: WorkloadId[],
): Promise<void> {
  const { app, snapshots, intervals } = worker
  const lock = await locks.tryLock(squidId)
  if (!lock) return
  const deadline = new AbortController()
  // Cleared below: the signals of thousands of reconciled versions would abort at the same time.
  const timer = setTimeout(() => deadline.abort(new Error('Reconciling took too long')), reconcileTimeoutMs)
  try {
    if (await selectUnfinished(app.db, squidId)) return
    const signal = AbortSignal.any([stopping, lock.lost, deadline.signal])
    await reconcileVersion({ app, snapshots, pollMs: intervals.pollMs, signal }, squidId, observed)
    app.log.info({ squidId }, 'version reconciled')
  } catch (error) {
    if (!stopping.aborted) app.log.warn({ err: error, squidId }, 'failed to reconcile version')
  } finally {
    clearTimeout(timer)
    await lock.release()
  }
}

/** Deletes the rows of versions whose first deployment failed, even in an earlier release. `dropOrphanedDatabases` drops their databases. */
export async function removeNeverDeployed(app: WorkerApp): Promise<void> {
  for (const { id, orgId } of await listNeverDeployed(app.db))
    await app.db.transaction(async (tx) => {
      await lockOrg(tx, orgId)
      if (await selectUnfinished(tx, id)) return
      const squid = await selectSquid(tx, id)
      if (squid?.image === null) await deleteSquid(tx, id)
    })
}

/** Starts the deletion of the versions of organizations marked as deleted. Deletes the rows of such organizations without versions. */
async function removeDeletedOrgs(app: App): Promise<void> {
  const now = app.clock.now()
  const since = new Date(now.getTime() - retryDeletionMs)
  for (const { id, orgId } of await listVersionsOfDeletedOrgs(app.db, since))
    await app.db.transaction(async (tx) => {
      const squid = await selectSquid(tx, id)
      if (squid && !(await selectUnfinished(tx, id)))
        await enqueue(tx, now, squid, { type: 'DELETE', userId: null, requestKey: `org ${orgId} deleted` })
    })
  for (const orgId of await listRemovableOrgs(app.db)) await removeOrg(app, orgId)
}

/** Deletes the row of a deleted organization once it has no versions left and billing has settled it. */
export async function removeOrg({ db, clock }: Pick<App, 'db' | 'clock'>, orgId: number): Promise<void> {
  await db.transaction(async (tx) => {
    const org = await lockOrg(tx, orgId)
    if (!org?.deletedAt || !org.settledAt) return
    if ((await countSquids(tx, orgId)) > 0 || (await hasUnfinishedDeployment(tx, orgId))) return
    await deleteOrg(tx, orgId, clock.now())
  })
}

/**
 * Removes the runtime's resources of organizations whose row was deleted. Keeps those of organizations that were created after the backup
 * from which the database was restored.
 */
export async function removeTenantsOfDeletedOrgs(app: WorkerApp): Promise<void> {
  const tenants = (await app.runtime.tenants()).map(Number).filter(Number.isSafeInteger)
  for (const orgId of await listDeletedOrgs(app.db, tenants)) await app.runtime.removeTenant(String(orgId))
}

function warnOfOpenDatabases(app: WorkerApp, open: string[]): void {
  if (open.length > 0)
    app.log.warn(
      { databases: open },
      'The Postgres roles of squids can connect to these databases. Revoke CONNECT from PUBLIC, or give squids their own Postgres (SHOAL_SQUIDS_DATABASE_URL).',
    )
}

/** Workloads are a few kilobytes each. */
const batchSize = 200

/**
 * Reports the desired state of each version to the runtime: earlier workers applied it, and since then, the host's own state may have been
 * restored from a backup.
 */
async function recallWorkloads({ db, sealer, runtime, log }: WorkerApp, signal: AbortSignal): Promise<void> {
  if (!runtime.recall) return
  const ids = (await listDesired(db)).flatMap(({ id, hasWorkload }) => (hasWorkload ? [id] : []))
  for (const batch of inBatches(ids, batchSize)) {
    if (signal.aborted) return
    await forEachInSlices(await selectSealedWorkloads(db, batch), ({ squidId, sealedWorkload }) => {
      try {
        runtime.recall?.(openWorkload(sealer, squidId, sealedWorkload))
      } catch (error) {
        // A version whose key is missing must not prevent the others from being reconciled.
        log.warn({ err: error, squidId }, 'the workload of a version could not be read')
      }
    })
  }
}
