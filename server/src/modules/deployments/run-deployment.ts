import { ClusterUnreachable } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import type { Lock } from '../../db/leases.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import type { RedactorLookup } from '../databases/index.ts'
import { selectSquid } from '../versions/index.ts'
import { addNotes, claim, finishedSteps, lockClaimed, SupersededError } from './claim-store.ts'
import { fail, finish, removeUnpackedArchive } from './end-deployment.ts'
import { DeployFailure, failureOf, unexpectedFailure } from './failure.ts'
import { openJournal } from './journal.ts'
import { stepsOf } from './plans.ts'
import { runStep } from './run-step.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import type { EngineIntervals, StepContext } from './step.ts'
import { selectOrg, type DeploymentRow } from './store.ts'

/** When more workers than this have stopped during a deployment, the deployment itself is considered the cause. */
const maxAttempts = 30

/** What the deployments of a worker share. */
export type Worker = {
  app: WorkerApp
  intervals: EngineIntervals
  snapshots: SnapshotReader
  redactors: RedactorLookup
}

/**
 * Runs a deployment from its current step to its end. The caller holds the version's lock. Rejects without recording a failure
 * when `stopping` is aborted or the lock is lost; any worker can then resume the deployment.
 */
export async function runDeployment(worker: Worker, id: number, lock: Lock, stopping: AbortSignal): Promise<void> {
  const { app } = worker
  const releaseSignal = AbortSignal.any([stopping, lock.lost])
  releaseSignal.throwIfAborted()
  const deployment = await claim(app.db, id)
  if (!deployment) return
  const org = await selectOrg(app.db, deployment.orgId)
  if (!org) return
  const { squidId } = deployment
  const redactor = async () => (await worker.redactors([squidId]))(squidId)
  const journal = await openJournal({ db: app.db, clock: app.clock, deploymentId: id, redactor })
  const context = contextOf(
    worker,
    deployment,
    org,
    { journal, redact: async (text) => (await redactor())(text) },
    releaseSignal,
  )
  try {
    await runSteps(context, releaseSignal)
    await removeUnpackedArchive(context)
    await finish(context, { status: 'OK' })
  } catch (error) {
    // An unavailable database or cluster does not fail the deployment: a worker resumes it when the database or cluster responds.
    if (releaseSignal.aborted || error instanceof SupersededError || isOutage(error)) throw error
    const failureContext = { orgCode: org.code, deploymentId: id }
    const expected = failureOf(error, failureContext)
    if (!expected) app.log.error({ err: error, deploymentId: id }, 'deployment failed')
    const failure = expected ?? unexpectedFailure(failureContext)
    await fail(context, new DeployFailure(failure.kind, (await redactor())(failure.message)))
  } finally {
    await journal.close(lock.lost.aborted ? 'drop' : 'keep')
  }
}

const isOutage = (error: unknown): boolean => isUnavailable(error) || error instanceof ClusterUnreachable

async function runSteps(context: StepContext, releaseSignal: AbortSignal): Promise<void> {
  const { app, deployment, journal } = context
  const { failure } = deployment.notes
  if (failure) throw new DeployFailure(failure.kind, failure.message)
  if (deployment.attempt > maxAttempts) throw new Error(`${deployment.attempt} workers stopped during this deployment`)
  if (deployment.attempt > 1) journal.info('The worker stopped during this deployment. Another one resumes it.')
  const done = await finishedSteps(app.db, deployment.id)
  for (const [seq, step] of stepsOf(deployment).entries())
    if (!done.has(seq)) await runStep(context, step, seq, releaseSignal)
}

function contextOf(
  { app, intervals, snapshots }: Worker,
  deployment: DeploymentRow,
  org: { id: number; code: string; isPlayground: boolean },
  log: Pick<StepContext, 'journal' | 'redact'>,
  signal: AbortSignal,
): StepContext {
  const context: StepContext = {
    app,
    intervals,
    engine: { app, snapshots, pollMs: intervals.pollMs, signal },
    org,
    deployment,
    ...log,
    signal,
    isResumed: deployment.attempt > 1,
    saveNotes: async (notes) => {
      context.deployment = await addNotes(app.db, context.deployment, notes, app.clock.now())
    },
    squid: async () => {
      const squid = await selectSquid(app.db, deployment.squidId)
      if (!squid) throw new Error(`Squid ${deployment.squidId} no longer exists`)
      return squid
    },
    inClaimedTransaction: (work) =>
      app.db.transaction(async (tx) => {
        await lockClaimed(tx, context.deployment)
        return await work(tx)
      }),
    restartDeadline: async () => {},
  }
  return context
}
