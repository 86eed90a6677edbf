import type { WorkerApp } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { Lock } from '../../db/leases.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { deleteSquid, dropDatabase, selectSquid, setLastDeploy, type Hiding } from '../squids/index.ts'
import { DeployFailure, failureOf, unexpected } from './failure.ts'
import { openJournal } from './journal.ts'
import type { Look } from './look.ts'
import { plans, type RunnableType } from './plans.ts'
import { settle } from './settle.ts'
import type { Pace, Step, StepContext } from './step.ts'
import { addNotes, beginStep, claim, endStep, holdMine, selectOrg, stepsDone, Superseded, updateMine } from './store.ts'
import type { DeploymentRow } from './store.ts'
import { treeKey } from './steps/unpack.ts'
import { pause } from './wait.ts'

/** A step is tried this often when something of ours fails. */
const tries = 3
/** Workers that may die over one deployment before it is taken for the cause. */
const mostAttempts = 30
/** How often the clock is compared with the deadline. */
const tickMs = 100

export type Worker = { app: WorkerApp; pace: Pace; look: Look; hiding: Hiding }

/**
 * Works on a deployment from where it stands to its end. Whoever calls it holds the version's lock. Lets go without a trace
 * when `stopping` is aborted or the lock is lost; any worker then goes on.
 */
export async function runDeployment(worker: Worker, id: number, lock: Lock, stopping: AbortSignal): Promise<void> {
  const { app } = worker
  const letGo = AbortSignal.any([stopping, lock.lost])
  letGo.throwIfAborted()
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
    letGo,
  )
  try {
    await runSteps(context, letGo)
    await removeTree(context)
    await finish(context, { status: 'OK' })
  } catch (error) {
    // A database that is away is nobody's fault: whichever worker finds it back goes on.
    if (letGo.aborted || error instanceof Superseded || isUnavailable(error)) throw error
    const told = { orgCode: org.code, deploymentId: id }
    const known = failureOf(error, told)
    if (!known) app.log.error({ err: error, deploymentId: id }, 'deployment failed')
    const failure = known ?? unexpected(told)
    await fail(context, new DeployFailure(failure.kind, (await redactor())(failure.message)))
  } finally {
    await journal.close(lock.lost.aborted ? 'drop' : 'keep')
  }
}

async function runSteps(context: StepContext, letGo: AbortSignal): Promise<void> {
  const { app, deployment, journal } = context
  const { failure } = deployment.notes
  if (failure) throw new DeployFailure(failure.kind, failure.message)
  if (deployment.attempt > mostAttempts)
    throw new Error(`${deployment.attempt} workers have stopped in the middle of this deployment`)
  if (deployment.attempt > 1) journal.info('The worker was stopped in the middle; another one goes on.')
  const done = await stepsDone(app.db, deployment.id)
  for (const [seq, step] of plans[deployment.type as RunnableType].entries())
    if (!done.has(seq)) await runStep(context, step, seq, letGo)
}

async function runStep(context: StepContext, step: Step, seq: number, letGo: AbortSignal): Promise<void> {
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
        await pause(context.pace.retryMs, context.signal)
        context.isResumed = true
      }
    }
  } finally {
    deadline.end()
    setSignal(context, letGo)
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
  context.hands = { ...context.hands, signal }
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
  const { app, deployment, hands } = context
  try {
    await removeTree(context)
    const signal = AbortSignal.any([hands.signal, AbortSignal.timeout(60_000)])
    await settle({ ...hands, signal }, deployment.squidId)
  } catch (error) {
    hands.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'clean-up is left to the reconcile loop')
  }
}

/**
 * A version whose first deployment failed never ran. It goes with its database, so that nothing is billed and its name is free for
 * the next try; the deployment and its log stay. Answers whether its row may go.
 */
async function dropNeverRan(context: StepContext): Promise<boolean> {
  const { app, deployment, journal, hands } = context
  const squid = await selectSquid(app.db, deployment.squidId)
  if (squid === null || squid.image !== null) return false
  // The database's password is known, and hidden in the log, for as long as there is a database.
  await journal.flush()
  try {
    await dropDatabase(app, squid.id)
    return true
  } catch (error) {
    hands.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'a version that never ran is left to the reconcile loop')
    return false
  }
}

async function removeTree({ app, deployment }: StepContext): Promise<void> {
  if (deployment.uploadId) await app.builder.removeTree(treeKey(deployment.id))
}

type End = { status: 'OK' } | { failed: DeployFailure['kind']; failureReason: string }

async function finish(context: StepContext, end: End, isGone = false): Promise<void> {
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
    const row = await updateMine(tx, context.deployment, { ...change, updatedAt })
    await more(tx)
    const { id, type, status, failed, squidId } = row
    const isSwitched = context.deployment.notes.rollout === 'switched'
    if (isGone) await deleteSquid(tx, squidId)
    else await setLastDeploy(tx, squidId, { id, type, status, failed, running: row.finishedAt === null, isSwitched })
    context.deployment = row
  })
}

function contextOf(
  { app, pace, look }: Worker,
  deployment: DeploymentRow,
  org: { id: number; code: string; isPlayground: boolean },
  log: Pick<StepContext, 'journal' | 'redact'>,
  signal: AbortSignal,
): StepContext {
  const context: StepContext = {
    app,
    pace,
    hands: { app, look, pollMs: pace.pollMs, signal },
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
