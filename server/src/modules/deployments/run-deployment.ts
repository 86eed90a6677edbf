import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { Lock } from '../../db/leases.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { deleteSquid, selectSquid, setLastDeploy } from '../versions/index.ts'
import { dropDatabase, type RedactorSource } from '../databases/index.ts'
import { DeployFailure, failureOf, unexpected } from './failure.ts'
import { openJournal } from './journal.ts'
import { listLastLogs } from './log-store.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import { stepsByType } from './plans.ts'
import { reconcileVersion } from './reconcile-version.ts'
import type { EngineIntervals, Step, StepContext } from './step.ts'
import {
  addNotes,
  beginStep,
  claim,
  endStep,
  lockClaimed,
  selectOrg,
  stepsDone,
  SupersededError,
  updateClaimed,
} from './store.ts'
import type { DeploymentRow } from './store.ts'
import { treeKey } from './steps/unpack.ts'
import { pause } from './wait.ts'

/** Attempts at a step that fails for an internal reason. */
const maxStepRuns = 3
/** Workers that may stop during one deployment before the deployment itself is considered the cause. */
const maxAttempts = 30
/** How often the deadline is checked. */
const tickMs = 100

export type Worker = {
  app: WorkerApp
  intervals: EngineIntervals
  snapshots: SnapshotReader
  redactors: RedactorSource
}

/**
 * Runs a deployment from its current step to its end. The caller holds the version's lock. Rejects without writing anything
 * when `stopping` is aborted or the lock is lost; any worker can then resume it.
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
    await removeTree(context)
    await finish(context, { status: 'OK' })
  } catch (error) {
    // The database being unavailable is not a failure of the deployment: a worker resumes it once it is back.
    if (releaseSignal.aborted || error instanceof SupersededError || isUnavailable(error)) throw error
    const failureContext = { orgCode: org.code, deploymentId: id }
    const known = failureOf(error, failureContext)
    if (!known) app.log.error({ err: error, deploymentId: id }, 'deployment failed')
    const failure = known ?? unexpected(failureContext)
    await fail(context, new DeployFailure(failure.kind, (await redactor())(failure.message)))
  } finally {
    await journal.close(lock.lost.aborted ? 'drop' : 'keep')
  }
}

async function runSteps(context: StepContext, releaseSignal: AbortSignal): Promise<void> {
  const { app, deployment, journal } = context
  const { failure } = deployment.notes
  if (failure) throw new DeployFailure(failure.kind, failure.message)
  if (deployment.attempt > maxAttempts) throw new Error(`${deployment.attempt} workers stopped during this deployment`)
  if (deployment.attempt > 1) journal.info('The worker stopped during this deployment. Another one resumes it.')
  const done = await stepsDone(app.db, deployment.id)
  for (const [seq, step] of stepsByType[deployment.type].entries())
    if (!done.has(seq)) await runStep(context, step, seq, releaseSignal)
}

async function runStep(context: StepContext, step: Step, seq: number, releaseSignal: AbortSignal): Promise<void> {
  const { app, journal } = context
  const { id } = context.deployment
  const { status, deadlineAt } = context.deployment
  // If an earlier worker began the step, its deadline still applies.
  const endsAt = status === step.status && deadlineAt ? deadlineAt : inMs(app, step.deadlineMs(app))
  const begun = { deploymentId: id, seq, status: step.status, startedAt: app.clock.now() }
  await advance(context, { status: step.status, deadlineAt: endsAt }, { more: (tx) => beginStep(tx, begun) })
  const deadline = startDeadline(context, step)
  context.isResumed = context.deployment.attempt > 1
  try {
    for (let left = maxStepRuns; ; left--) {
      try {
        context.signal.throwIfAborted()
        await step.run(context)
        break
      } catch (error) {
        context.signal.throwIfAborted()
        if (left === 1 || isUnavailable(error) || failureOf(error, { orgCode: '', deploymentId: id })) throw error
        app.log.warn({ err: error, deploymentId: id, step: step.status }, 'step failed, retrying')
        await pause(context.intervals.retryMs, context.signal)
        context.isResumed = true
      }
    }
  } finally {
    deadline.end()
    setSignal(context, releaseSignal)
  }
  await journal.flush()
  await context.change((tx) => endStep(tx, id, seq, app.clock.now()))
}

const inMs = (app: Pick<WorkerApp, 'clock'>, ms: number) => new Date(app.clock.now().getTime() + ms)

/** Aborts the step's signal once the deadline on the row has passed, also if it had passed before. */
function startDeadline(context: StepContext, step: Step): { end: () => void } {
  const { app } = context
  const passed = new AbortController()
  setSignal(context, AbortSignal.any([context.signal, passed.signal]))
  let limitMs = step.deadlineMs(app)
  context.restartDeadline = async (ms) => {
    limitMs = ms
    if (context.deployment.notes.leftQueue === step.status) return
    await advance(context, {
      deadlineAt: inMs(app, ms),
      notes: { ...context.deployment.notes, leftQueue: step.status },
    })
  }
  const check = () => {
    const { deadlineAt } = context.deployment
    if (deadlineAt && app.clock.now() > deadlineAt)
      passed.abort(
        new DeployFailure(
          'REQUIREMENTS',
          `${step.doing} took longer than its limit of ${Math.round(limitMs / 60_000)} minutes. Check the log above, and deploy again.`,
        ),
      )
  }
  check()
  const tick = setInterval(check, tickMs)
  return { end: () => clearInterval(tick) }
}

function setSignal(context: StepContext, signal: AbortSignal): void {
  context.signal = signal
  context.engine = { ...context.engine, signal }
}

/** Prefix of failure messages after the switch to the new generation. */
const newCodeRuns = 'The new code is running; only a step after the switch to it failed.'

/** Stores the decision before cleaning up, so that a worker that resumes only cleans up; logs the reason last. */
async function fail(context: StepContext, failure: DeployFailure): Promise<void> {
  const { app, journal, deployment } = context
  const isSwitched = deployment.notes.rollout === 'switched'
  const hasPrefix = failure.message.startsWith(newCodeRuns)
  if (isSwitched && !hasPrefix) failure.message = `${newCodeRuns} ${failure.message}`
  await context.note({ failure: { kind: failure.kind, message: failure.message } })
  await cleanUp(context)
  // An earlier worker may have logged the reason before it died.
  const [lastLine] = deployment.notes.failure ? await listLastLogs(app.db, [deployment.id], 1) : []
  if (lastLine?.message !== failure.message) journal.error(failure.message)
  const isDropped = await dropNeverDeployed(context)
  await finish(context, { failed: failure.kind, failureReason: failure.message }, isDropped)
  app.log.info({ deploymentId: deployment.id, failed: failure.kind }, 'deployment ended')
}

/** Restores the containers that ran before. If that fails now, the reconcile loop retries. */
async function cleanUp(context: StepContext): Promise<void> {
  const { app, deployment, engine } = context
  try {
    await removeTree(context)
    const signal = AbortSignal.any([engine.signal, AbortSignal.timeout(60_000)])
    await reconcileVersion({ ...engine, signal }, deployment.squidId)
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'clean-up failed, left to the reconcile loop')
  }
}

/**
 * A version whose first deployment failed is deleted with its database, so that it is not billed and its name is free again; the
 * deployment and its log stay. Returns whether its row may be deleted.
 */
async function dropNeverDeployed(context: StepContext): Promise<boolean> {
  const { app, deployment, journal, engine } = context
  const squid = await selectSquid(app.db, deployment.squidId)
  if (squid === null || squid.image !== null) return false
  // The redactor only knows the database's password while the database exists.
  await journal.flush()
  try {
    await dropDatabase(app, squid.id)
    return true
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn(
      { err: error, deploymentId: deployment.id },
      'failed to drop a version that never ran, left to the reconcile loop',
    )
    return false
  }
}

async function removeTree({ app, deployment }: StepContext): Promise<void> {
  if (deployment.uploadId) await app.builder.removeTree(treeKey(deployment.id))
}

type DeploymentOutcome = { status: 'OK' } | { failed: DeployFailure['kind']; failureReason: string }

async function finish(context: StepContext, end: DeploymentOutcome, isDropped = false): Promise<void> {
  await context.journal.flush()
  await advance(context, { ...end, notes: {}, deadlineAt: null, finishedAt: context.app.clock.now() }, { isDropped })
}

/** Updates the row and, in the same transaction, the last deployment on the version's row, or deletes that row. */
async function advance(
  context: StepContext,
  change: Partial<DeploymentRow>,
  { isDropped = false, more = async () => {} }: { isDropped?: boolean; more?: (tx: Db) => Promise<void> } = {},
): Promise<void> {
  const { app } = context
  const updatedAt = app.clock.now()
  await app.db.transaction(async (tx) => {
    const row = await updateClaimed(tx, context.deployment, { ...change, updatedAt })
    await more(tx)
    const { id, type, status, failed, squidId } = row
    const isSwitched = context.deployment.notes.rollout === 'switched'
    if (isDropped) await deleteSquid(tx, squidId)
    else await setLastDeploy(tx, squidId, { id, type, status, failed, running: row.finishedAt === null, isSwitched })
    context.deployment = row
  })
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
    note: async (notes) => {
      context.deployment = await addNotes(app.db, context.deployment, notes, app.clock.now())
    },
    squid: async () => {
      const squid = await selectSquid(app.db, deployment.squidId)
      if (!squid) throw new Error(`Squid ${deployment.squidId} no longer exists`)
      return squid
    },
    change: (work) =>
      app.db.transaction(async (tx) => {
        await lockClaimed(tx, context.deployment)
        return await work(tx)
      }),
    restartDeadline: async () => {},
  }
  return context
}
