import type { WorkerApp } from '../../app.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle, type Locks } from '../../db/leases.ts'
import { closeOtherDatabases, collectDatabases } from '../databases/index.ts'
import { containerNames, parseWorkloadId, workloadIdOf } from '../manifest/index.ts'
import { deleteSquid, listDesired, selectSquid } from '../versions/index.ts'
import { removeDeletedOrgs } from './deleted-orgs.ts'
import type { RuntimeSnapshot } from './runtime-snapshot.ts'
import type { Worker } from './run-deployment.ts'
import { reconcileVersion } from './reconcile-version.ts'
import { lockOrg } from '../orgs/index.ts'
import { listNeverDeployed, selectUnfinishedOf, squidsInProgress } from './store.ts'

/** Databases of deleted versions are checked once in this many rounds. */
const databasesEveryRounds = 20
/** A container that cannot be removed must not hold up all other versions. */
const reconcileTimeoutMs = 60_000
const concurrency = 4

/**
 * Makes running containers match the desired state, for versions without a deployment in progress: starts missing containers and
 * removes all others. One worker at a time does this.
 */
export function startReconcile(worker: Worker, locks: Locks): LeaderHandle {
  const { app, intervals } = worker
  return runAsLeader(app.database, app.log, 'reconcile', async (_, signal) => {
    await warnOfOpenDatabases(app)
    let round = 0
    const failed = (error: unknown) => app.log.warn({ err: error }, 'reconcile round failed')
    await every(signal, { ms: intervals.reconcileMs, onError: failed }, async () => {
      await reconcile(worker, locks, signal)
      await removeDeletedOrgs(app)
      if (round++ % databasesEveryRounds === 0) {
        await removeNeverDeployed(app)
        await collectDatabases(app)
      }
    })
  })
}

/** One round over all versions. */
export async function reconcile(worker: Worker, locks: Locks, stopping: AbortSignal): Promise<void> {
  const { app } = worker
  // The snapshot is taken first, so everything in it already had its row.
  const snapshot = await worker.snapshots()
  const desired = await listDesired(app.db)
  const busy = await squidsInProgress(app.db)
  const drifted = driftedVersions(snapshot, desired).filter((id) => !busy.has(id))
  const next = drifted.values()
  const work = async () => {
    for (const id of next) if (!stopping.aborted) await reconcileIfIdle(worker, locks, id, stopping)
  }
  await Promise.all(Array.from({ length: concurrency }, work))
}

/** Versions with an undesired container, or without a desired one. */
export function driftedVersions(snapshot: RuntimeSnapshot, desired: Awaited<ReturnType<typeof listDesired>>): number[] {
  const drifted = new Set<number>()
  const rows = new Map(desired.map((row) => [row.id, row]))
  for (const workload of snapshot.workloads) {
    const id = parseWorkloadId(workload)
    const row = id && rows.get(id.squidId)
    if (id && !(row?.runs && row.generation === id.generation)) drifted.add(id.squidId)
  }
  for (const row of desired) {
    if (!row.runs) continue
    const exist = new Set(snapshot.of(workloadIdOf(row.id, row.generation)).map((o) => o.container))
    if (containerNames(row.apiReplicas, row.processors).some((name) => !exist.has(name))) drifted.add(row.id)
  }
  return [...drifted]
}

/** Reconciles one version unless a deployment is in progress. */
async function reconcileIfIdle(worker: Worker, locks: Locks, squidId: number, stopping: AbortSignal): Promise<void> {
  const { app, snapshots, intervals } = worker
  const lock = await locks.tryLock(squidId)
  if (!lock) return
  try {
    if (await selectUnfinishedOf(app.db, squidId)) return
    const signal = AbortSignal.any([stopping, lock.lost, AbortSignal.timeout(reconcileTimeoutMs)])
    await reconcileVersion({ app, snapshots, pollMs: intervals.pollMs, signal }, squidId)
    app.log.info({ squidId }, 'version reconciled')
  } catch (error) {
    if (!stopping.aborted) app.log.warn({ err: error, squidId }, 'failed to reconcile version')
  } finally {
    await lock.release()
  }
}

/** Removes rows of failed first deployments, including those of earlier releases; `collectDatabases` removes the databases. */
export async function removeNeverDeployed(app: WorkerApp): Promise<void> {
  for (const { id, orgId } of await listNeverDeployed(app.db))
    await app.db.transaction(async (tx) => {
      await lockOrg(tx, orgId)
      if (await selectUnfinishedOf(tx, id)) return
      const squid = await selectSquid(tx, id)
      if (squid?.image === null) await deleteSquid(tx, id)
    })
}

async function warnOfOpenDatabases(app: WorkerApp): Promise<void> {
  const open = await closeOtherDatabases(app)
  if (open.length > 0)
    app.log.warn(
      { databases: open },
      'The Postgres roles of squids can connect to these databases. Revoke CONNECT from PUBLIC, or give squids a Postgres of their own (SHOAL_SQUIDS_DATABASE_URL).',
    )
}
