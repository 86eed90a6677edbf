import type { WorkerApp } from '../../app.ts'
import { every } from '../../db/every.ts'
import { runAsLeader, type LeaderHandle, type Locks } from '../../db/leases.ts'
import { closeOtherDatabases, collectDatabases } from '../databases/index.ts'
import { containerNames, parseWorkloadId, workloadIdOf } from '../manifest/index.ts'
import { deleteSquid, listDesired, selectSquid } from '../versions/index.ts'
import { removeDeletedOrgs } from './deleted-orgs.ts'
import type { RuntimeSnapshot } from './runtime-snapshot.ts'
import type { Worker } from './run-deployment.ts'
import { reconcileVersion } from './settle.ts'
import { listNeverRan, lockOrg, selectUnfinishedOf, squidsInProgress } from './store.ts'

/** Databases of versions that are gone are looked for this much more seldom than containers. */
const databasesEveryRounds = 20
/** A container that does not go away must not hold up all other versions. */
const settleMs = 60_000
const atOnce = 4

/**
 * Keeps what runs equal to what is wanted, for versions no deployment works on: starts what is missing, removes what nobody
 * wants. One worker at a time does it.
 */
export function startReconcile(worker: Worker, locks: Locks): LeaderHandle {
  const { app, intervals } = worker
  return runAsLeader(app.database, app.log, 'reconcile', async (_, signal) => {
    await warnOfOpenDatabases(app)
    let round = 0
    const failed = (error: unknown) => app.log.warn({ err: error }, 'a round of the reconcile loop failed')
    await every(signal, { ms: intervals.reconcileMs, onError: failed }, async () => {
      await reconcile(worker, locks, signal)
      await removeDeletedOrgs(app)
      if (round++ % databasesEveryRounds === 0) {
        await removeNeverRan(app)
        await collectDatabases(app)
      }
    })
  })
}

/** One round over all versions. */
export async function reconcile(worker: Worker, locks: Locks, stopping: AbortSignal): Promise<void> {
  const { app } = worker
  // The look comes first: whatever it shows had its row before.
  const snapshot = await worker.snapshots()
  const wanted = await listDesired(app.db)
  const busy = await squidsInProgress(app.db)
  const odd = driftedVersions(snapshot, wanted).filter((id) => !busy.has(id))
  const next = odd.values()
  const work = async () => {
    for (const id of next) if (!stopping.aborted) await reconcileIfIdle(worker, locks, id, stopping)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

/** Versions of which something runs that is not wanted, or something wanted does not exist. */
export function driftedVersions(snapshot: RuntimeSnapshot, wanted: Awaited<ReturnType<typeof listDesired>>): number[] {
  const odd = new Set<number>()
  const rows = new Map(wanted.map((row) => [row.id, row]))
  for (const workload of snapshot.workloads) {
    const id = parseWorkloadId(workload)
    const row = id && rows.get(id.squidId)
    if (id && !(row?.runs && row.generation === id.generation)) odd.add(id.squidId)
  }
  for (const row of wanted) {
    if (!row.runs) continue
    const exist = new Set(snapshot.of(workloadIdOf(row.id, row.generation)).map((o) => o.container))
    if (containerNames(row.apiReplicas, row.processors).some((name) => !exist.has(name))) odd.add(row.id)
  }
  return [...odd]
}

/** Settles one version unless somebody works on it. */
async function reconcileIfIdle(worker: Worker, locks: Locks, squidId: number, stopping: AbortSignal): Promise<void> {
  const { app, snapshots, intervals } = worker
  const lock = await locks.tryLock(squidId)
  if (!lock) return
  try {
    if (await selectUnfinishedOf(app.db, squidId)) return
    const signal = AbortSignal.any([stopping, lock.lost, AbortSignal.timeout(settleMs)])
    await reconcileVersion({ app, snapshots, pollMs: intervals.pollMs, signal }, squidId)
    app.log.info({ squidId }, 'brought what runs of a version to what is wanted')
  } catch (error) {
    if (!stopping.aborted) app.log.warn({ err: error, squidId }, 'a version could not be settled')
  } finally {
    await lock.release()
  }
}

/** What a failed first deployment left behind, as those of earlier releases did; `collectDatabases` takes the database. */
export async function removeNeverRan(app: WorkerApp): Promise<void> {
  for (const { id, orgId } of await listNeverRan(app.db))
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
      'The roles of squids may connect to these databases of their Postgres. Revoke CONNECT from PUBLIC, or give squids a Postgres of their own (SHOAL_SQUIDS_DATABASE_URL).',
    )
}
