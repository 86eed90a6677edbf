import type { WorkerApp } from '../../app.ts'
import { openLocks, type Lock, type Locks } from '../../db/leases.ts'
import { notificationsOf } from '../../db/notifications.ts'
import { createRedactorSource } from '../databases/index.ts'
import { createSnapshotReader } from './runtime-snapshot.ts'
import { runDeployment, type Worker } from './run-deployment.ts'
import type { EngineIntervals } from './step.ts'
import { deploymentsChannel, listUnfinished } from './store.ts'

const lockSpace = 5_404_101

/** Deployments one worker runs at once; most of their time is waiting. */
const maxConcurrent = 32

export type Engine = {
  /** By version; shared with the reconcile loop of this worker. */
  locks: Locks
  worker: Worker
  /** Lets go of all deployments, where they stand. */
  close: () => Promise<void>
}

/** Takes up deployments that nobody works on: at once when told of one, and by a sweep for those it was not told of. */
export function startEngine(app: WorkerApp, intervals: EngineIntervals): Engine {
  const stopping = new AbortController()
  const running = new Map<number, Promise<void>>()
  const worker: Worker = {
    app,
    intervals,
    snapshots: createSnapshotReader(app.runtime),
    hiding: createRedactorSource(app),
  }
  const locks = openLocks(app.database, lockSpace)
  let sweeping: Promise<void> | null = null
  let isAskedAgain = false

  /** Never rejects. Asked while one goes on, another follows. */
  function sweep(): Promise<void> {
    isAskedAgain = sweeping !== null
    sweeping ??= takeUpAll()
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) app.log.warn({ err: error }, 'the engine cannot look for deployments')
      })
      .then(() => {
        sweeping = null
        return isAskedAgain && !stopping.signal.aborted ? sweep() : undefined
      })
    return sweeping
  }

  async function takeUpAll(): Promise<void> {
    if (stopping.signal.aborted || running.size >= maxConcurrent) return
    for (const { id, squidId } of await listUnfinished(app.db)) {
      if (stopping.signal.aborted || running.size >= maxConcurrent) return
      if (running.has(id)) continue
      const lock = await locks.tryLock(squidId)
      if (!lock) continue
      running.set(id, run(id, lock))
    }
  }

  async function run(id: number, lock: Lock): Promise<void> {
    try {
      await runDeployment(worker, id, lock, stopping.signal)
    } catch (error) {
      // The row tells where it stands: a worker goes on with the next sweep.
      if (!stopping.signal.aborted) app.log.warn({ err: error, deploymentId: id }, 'let go of a deployment')
    } finally {
      const wasFull = running.size >= maxConcurrent
      running.delete(id)
      if (wasFull) void sweep()
      await lock.release().catch((error: unknown) => app.log.warn({ err: error }, 'a lock was not released'))
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
      stopping.abort(new Error('The worker stops'))
      await sweeping
      await Promise.all(running.values())
      await locks.close()
    },
  }
}
