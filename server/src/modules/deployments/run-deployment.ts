import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { Lock } from '../../db/leases.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { deleteSquid, selectSquid, setLastDeploy } from '../versions/index.ts'
import { dropDatabase, type RedactorSource } from '../databases/index.ts'
import { DeployFailure, failureOf, unexpected } from './failure.ts'
import { openJournal } from './journal.ts'
import type { SnapshotReader } from './runtime-snapshot.ts'
import { stepsByType, type RunnableType } from './plans.ts'
import { reconcileVersion } from './settle.ts'
import type { EngineIntervals, Step, StepContext } from './step.ts'
import {
  addNotes,
  beginStep,
  claim,
  endStep,
  holdMine,
  selectOrg,
  stepsDone,
  SupersededError,
  updateClaimed,
} from './store.ts'
import type { DeploymentRow } from './store.ts'
import { treeKey } from './steps/unpack.ts'
import { pause } from './wait.ts'

/** A step is tried this often when something of ours fails. */
const tries = 3
/** Workers that may die over one deployment before it is taken for the cause. */
const maxAttempts = 30
/** How often the clock is compared with the deadline. */
const tickMs = 100

export type Worker = { app: WorkerApp; intervals: EngineIntervals; snapshots: SnapshotReader; hiding: RedactorSource }

/**
 * Works on a deployment from where it stands to its end. Whoever calls it holds the version's lock. Lets go without a trace
 * when `stopping` is aborted or the lock is lost; any worker then goes on.
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
  const redactor = async () => (await worker.hiding([squidId]))(squidId)
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
    // A database that is away is nobody's fault: whichever worker finds it back goes on.
    if (releaseSignal.aborted || error instanceof SupersededError || isUnavailable(error)) throw error
    const told = { orgCode: org.code, deploymentId: id }
    const known = failureOf(error, told)
    if (!known) app.log.error({ err: error, deploymentId: id }, 'deployment failed')
    const failure = known ?? unexpected(told)
    await fail(context, new DeployFailure(failure.kind, (await redactor())(failure.message)))
  } finally {
    await journal.close(lock.lost.aborted ? 'drop' : 'keep')
  }
}

async function runSteps(context: StepContext, releaseSignal: AbortSignal): Promise<void> {
  const { app, deployment, journal } = context
  const { failure } = deployment.notes
  if (failure) throw new DeployFailure(failure.kind, failure.message)
  if (deployment.attempt > maxAttempts)
    throw new Error(`${deployment.attempt} workers have stopped in the middle of this deployment`)
  if (deployment.attempt > 1) journal.info('The worker was stopped in the middle; another one goes on.')
  const done = await stepsDone(app.db, deployment.id)
  for (const [seq, step] of stepsByType[deployment.type as RunnableType].entries())
    if (!done.has(seq)) await runStep(context, step, seq, releaseSignal)
}

async function runStep(context: StepContext, step: Step, seq: number, releaseSignal: AbortSignal): Promise<void> {
  const { app, journal } = context
  const { id } = context.deployment
  const { status, deadlineAt } = context.deployment
  // A worker before this one may have begun the step: its time goes on.
  const endsAt = status === step.status && deadlineAt ? deadlineAt : inMs(app, step.deadlineMs(app))
  const begun = { deploymentId: id, seq, status: step.status, startedAt: app.clock.now() }
  await advance(context, { status: step.status, deadlineAt: endsAt }, { more: (tx) => beginStep(tx, begun) })
  const deadline = startDeadline(context, step)
  context.isResumed = context.deployment.attempt > 1
  try {
    for (let left = tries; ; left--) {
      try {
        context.signal.throwIfAborted()
        await step.run(context)
        break
      } catch (error) {
        context.signal.throwIfAborted()
        if (left === 1 || isUnavailable(error) || failureOf(error, { orgCode: '', deploymentId: id })) throw error
        app.log.warn({ err: error, deploymentId: id, step: step.status }, 'a step is tried again')
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

/** Aborts the step's signal once the clock has passed the deadline on the row, also when it had passed before. */
function startDeadline(context: StepContext, step: Step): { end: () => void } {
  const { app } = context
  const passed = new AbortController()
  setSignal(context, AbortSignal.any([context.signal, passed.signal]))
  let givenMs = step.deadlineMs(app)
  context.restartDeadline = async (ms) => {
    givenMs = ms
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
          `${step.doing} took longer than the ${Math.round(givenMs / 60_000)} minutes it has. See what it was busy with above, and deploy again.`,
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

/** The beginning of what is said of a failure after the switch. */
const newCodeRuns = 'The new code runs; only what follows the switch to it failed.'

/** The decision first, so that a worker that takes over only cleans up; then the clean-up; the reason is the last line. */
async function fail(context: StepContext, failure: DeployFailure): Promise<void> {
  const { app, journal, deployment } = context
  const isSwitched = deployment.notes.rollout === 'switched'
  const isSaid = failure.message.startsWith(newCodeRuns)
  if (isSwitched && !isSaid) failure.message = `${newCodeRuns} ${failure.message}`
  await context.note({ failure: { kind: failure.kind, message: failure.message } })
  await cleanUp(context)
  journal.error(failure.message)
  const isGone = await dropNeverRan(context)
  await finish(context, { failed: failure.kind, failureReason: failure.message }, isGone)
  app.log.info({ deploymentId: deployment.id, failed: failure.kind }, 'deployment ended')
}

/** What ran before runs again. Should it not work now, the reconcile loop goes on with it. */
async function cleanUp(context: StepContext): Promise<void> {
  const { app, deployment, engine } = context
  try {
    await removeTree(context)
    const signal = AbortSignal.any([engine.signal, AbortSignal.timeout(60_000)])
    await reconcileVersion({ ...engine, signal }, deployment.squidId)
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'clean-up is left to the reconcile loop')
  }
}

/**
 * A version whose first deployment failed never ran. It goes with its database, so that nothing is billed and its name is free for
 * the next try; the deployment and its log stay. Answers whether its row may go.
 */
async function dropNeverRan(context: StepContext): Promise<boolean> {
  const { app, deployment, journal, engine } = context
  const squid = await selectSquid(app.db, deployment.squidId)
  if (squid === null || squid.image !== null) return false
  // The database's password is known, and hidden in the log, for as long as there is a database.
  await journal.flush()
  try {
    await dropDatabase(app, squid.id)
    return true
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'a version that never ran is left to the reconcile loop')
    return false
  }
}

async function removeTree({ app, deployment }: StepContext): Promise<void> {
  if (deployment.uploadId) await app.builder.removeTree(treeKey(deployment.id))
}

type DeploymentOutcome = { status: 'OK' } | { failed: DeployFailure['kind']; failureReason: string }

async function finish(context: StepContext, end: DeploymentOutcome, isGone = false): Promise<void> {
  await context.journal.flush()
  await advance(context, { ...end, notes: {}, deadlineAt: null, finishedAt: context.app.clock.now() }, { isGone })
}

/** Changes the row and, in the same transaction, what the version's row says of its last deployment, or deletes that row. */
async function advance(
  context: StepContext,
  change: Partial<DeploymentRow>,
  { isGone = false, more = async () => {} }: { isGone?: boolean; more?: (tx: Db) => Promise<void> } = {},
): Promise<void> {
  const { app } = context
  const updatedAt = app.clock.now()
  await app.db.transaction(async (tx) => {
    const row = await updateClaimed(tx, context.deployment, { ...change, updatedAt })
    await more(tx)
    const { id, type, status, failed, squidId } = row
    const isSwitched = context.deployment.notes.rollout === 'switched'
    if (isGone) await deleteSquid(tx, squidId)
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
      if (!squid) throw new Error(`Squid ${deployment.squidId} is gone`)
      return squid
    },
    change: (work) =>
      app.db.transaction(async (tx) => {
        await holdMine(tx, context.deployment)
        return await work(tx)
      }),
    restartDeadline: async () => {},
  }
  return context
}
