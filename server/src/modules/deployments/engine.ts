import type { WorkerApp } from '../../app.ts'
import { lockSpaces, openLocks, type Lock, type Locks } from '../../db/leases.ts'
import { notificationsOf } from '../../db/notifications.ts'
import { measured } from '../../health/loops.ts'
import { createRedactorLookup } from '../databases/index.ts'
import { createSnapshotReader } from './runtime-snapshot.ts'
import { runDeployment, type Worker } from './run-deployment.ts'
import type { EngineIntervals } from './step.ts'
import { deploymentsChannel, listUnfinished } from './store.ts'

/**
 * The maximum number of deployments that one worker runs concurrently; they spend most of their time waiting. One organization runs at most
 * as many as are free, so half of them: its deployments, which may take hours, do not delay those of others.
 */
const maxConcurrent = 64

/** The deploy engine of one worker. */
export type Engine = {
  /** One lock per version; the reconcile loop of this worker uses the same locks. */
  locks: Locks
  worker: Worker
  /** Interrupts all deployments at their current step, so that another worker can resume them. */
  close: () => Promise<void>
}

/** Runs unfinished deployments: immediately when notified, and in a periodic sweep in case a notification was lost. */
export function startEngine(app: WorkerApp, intervals: EngineIntervals): Engine {
  const stopping = new AbortController()
  const running = new Map<number, { orgId: number; ended: Promise<void> }>()
  const worker: Worker = {
    app,
    intervals,
    snapshots: createSnapshotReader(app.runtime),
    redactors: createRedactorLookup(app),
  }
  const locks = openLocks(app.database, lockSpaces.deployments)
  let sweeping: Promise<void> | null = null
  let isRequestedAgain = false
  /** Whether a deployment waits until another one has ended. */
  let isWaiting = false

  /** Never rejects. A call during a sweep starts another one after it. */
  function sweep(): Promise<void> {
    isRequestedAgain = sweeping !== null
    sweeping ??= measuredClaim()
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) app.log.warn({ err: error }, 'failed to poll for deployments')
      })
      .then(() => {
        sweeping = null
        return isRequestedAgain && !stopping.signal.aborted ? sweep() : undefined
      })
    return sweeping
  }

  const measuredClaim = measured(app, 'deployments', intervals.sweepMs, claimAll)

  async function claimAll(): Promise<void> {
    isWaiting = false
    for (const { id, squidId, orgId } of await listUnfinished(app.db)) {
      if (stopping.signal.aborted) return
      if (running.has(id)) continue
      if (!mayRun(orgId)) {
        isWaiting = true
        continue
      }
      const lock = await locks.tryLock(squidId)
      if (!lock) continue
      running.set(id, { orgId, ended: run(id, lock) })
    }
  }

  function mayRun(orgId: number): boolean {
    const runningOfOrg = [...running.values()].filter((deployment) => deployment.orgId === orgId).length
    return runningOfOrg < maxConcurrent - running.size
  }

  async function run(id: number, lock: Lock): Promise<void> {
    try {
      await runDeployment(worker, id, lock, stopping.signal)
    } catch (error) {
      // The row holds the state, so the next sweep of any worker resumes it.
      if (!stopping.signal.aborted)
        app.log.warn({ err: error, deploymentId: id }, 'a deployment was interrupted; a worker will resume it')
    } finally {
      running.delete(id)
      if (isWaiting) void sweep()
      await lock.release().catch((error: unknown) => app.log.warn({ err: error }, 'failed to release a lock'))
    }
  }

  const stopListening = notificationsOf(app.database).listen(deploymentsChannel, { onMessage: () => void sweep() })
  const timer = setInterval(() => void sweep(), intervals.sweepMs)
  void sweep()
  return {
    locks,
    worker,
    close: async () => {
      clearInterval(timer)
      stopListening()
      stopping.abort(new Error('The worker is stopping'))
      await sweeping
      await Promise.all([...running.values()].map(({ ended }) => ended))
      await locks.close()
    },
  }
}
