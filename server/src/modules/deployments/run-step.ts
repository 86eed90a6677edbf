import { ClusterUnreachable } from '@shoal/runtime'
import type { WorkerApp } from '../../app.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import type { Db } from '../../db/database.ts'
import { servers } from '../databases/index.ts'
import { deleteSquid, setLastDeploy } from '../versions/index.ts'
import { beginStep, endStep, updateClaimed } from './claim-store.ts'
import { displayedTypeOf } from './deployment-type.ts'
import { DeployFailure, failureOf } from './failure.ts'
import type { Step, StepContext } from './step.ts'
import type { DeploymentRow } from './store.ts'
import { pauseOrThrow, pollUntil } from './wait.ts'

/** The maximum number of attempts at a step that fails because of an internal error. */
const maxStepRuns = 3
/** The interval at which the deadline is checked. */
const deadlineCheckMs = 100

/** Runs a step, with retries, until it succeeds, fails permanently or exceeds its deadline. */
export async function runStep(
  context: StepContext,
  step: Step,
  seq: number,
  releaseSignal: AbortSignal,
): Promise<void> {
  const { app, journal } = context
  const { id } = context.deployment
  const { status, deadlineAt } = context.deployment
  // If an earlier worker began the step, the recorded deadline still applies.
  const stepDeadline = status === step.status && deadlineAt ? deadlineAt : timeIn(app, step.deadlineMs(app))
  const stepRow = { deploymentId: id, seq, status: step.status, startedAt: app.clock.now() }
  await updateDeployment(
    context,
    { status: step.status, deadlineAt: stepDeadline },
    { writeMore: (tx) => beginStep(tx, stepRow) },
  )
  let deadline = startDeadline(context, step)
  context.isResumed = context.deployment.attempt > 1
  try {
    for (let attemptsLeft = maxStepRuns; ; attemptsLeft--) {
      try {
        context.signal.throwIfAborted()
        await step.run(context)
        break
      } catch (error) {
        context.signal.throwIfAborted()
        const unavailable = isUnavailable(error) ? await servers.unavailable(app, context.deployment.squidId) : null
        if (error instanceof ClusterUnreachable || unavailable !== null) {
          deadline.end()
          setSignal(context, releaseSignal)
          await (unavailable === null ? waitForCluster(context) : waitForServer(context, unavailable))
          deadline = startDeadline(context, step)
          attemptsLeft = maxStepRuns + 1
          context.isResumed = true
          continue
        }
        if (attemptsLeft === 1 || isUnavailable(error) || failureOf(error, { orgCode: '', deploymentId: id }))
          throw error
        app.log.warn({ err: error, deploymentId: id, step: step.status }, 'step failed, retrying')
        await pauseOrThrow(context.intervals.retryMs, context.signal)
        context.isResumed = true
      }
    }
  } finally {
    deadline.end()
    setSignal(context, releaseSignal)
  }
  await journal.flush()
  await context.inClaimedTransaction((tx) => endStep(tx, id, seq, app.clock.now()))
}

/** Waits until the cluster responds. */
async function waitForCluster(context: StepContext): Promise<void> {
  const isResponding = () =>
    context.engine.snapshots.of().then(
      () => true as const,
      (error: unknown) => {
        if (error instanceof ClusterUnreachable) return null
        throw error
      },
    )
  await waitUntilResponding(context, isResponding, ['The cluster does not respond.', 'The cluster responds again'])
}

/** Waits until the Postgres server with the version's database responds. `problem`: what `servers.unavailable` returned. */
async function waitForServer(context: StepContext, problem: string): Promise<void> {
  const isResponding = async (): Promise<true | null> =>
    (await servers.unavailable(context.app, context.deployment.squidId)) === null ? true : null
  await waitUntilResponding(context, isResponding, [problem, 'The Postgres server responds again'])
}

/** Waits, logs a message before and after, and extends the step's deadline by the duration of the wait. */
async function waitUntilResponding(
  context: StepContext,
  isResponding: () => Promise<true | null>,
  [before, after]: [string, string],
): Promise<void> {
  const { app, intervals, journal, signal } = context
  const since = app.clock.now().getTime()
  journal.warn(`${before} The deployment continues when it does.`)
  await pollUntil(isResponding, intervals.retryMs, signal)
  journal.info(after)
  const { deadlineAt } = context.deployment
  const waitedMs = app.clock.now().getTime() - since
  if (deadlineAt) await updateDeployment(context, { deadlineAt: new Date(deadlineAt.getTime() + waitedMs) })
}

const timeIn = (app: Pick<WorkerApp, 'clock'>, ms: number) => new Date(app.clock.now().getTime() + ms)

/** Aborts the step's signal when the deadline on the row has passed, or immediately if it has already passed. */
function startDeadline(context: StepContext, step: Step): { end: () => void } {
  const { app } = context
  const exceeded = new AbortController()
  setSignal(context, AbortSignal.any([context.signal, exceeded.signal]))
  let limitMs = step.deadlineMs(app)
  context.restartDeadline = async (ms) => {
    limitMs = ms
    if (context.deployment.notes.leftQueue === step.status) return
    await updateDeployment(context, {
      deadlineAt: timeIn(app, ms),
      notes: { ...context.deployment.notes, leftQueue: step.status },
    })
  }
  const check = () => {
    const { deadlineAt } = context.deployment
    if (deadlineAt && app.clock.now() > deadlineAt)
      exceeded.abort(
        new DeployFailure(
          'REQUIREMENTS',
          `${step.activity} took longer than its limit of ${Math.round(limitMs / 60_000)} minutes. Check the log above, and deploy again.`,
        ),
      )
  }
  check()
  const timer = setInterval(check, deadlineCheckMs)
  return { end: () => clearInterval(timer) }
}

function setSignal(context: StepContext, signal: AbortSignal): void {
  context.signal = signal
  context.engine = { ...context.engine, signal }
}

/**
 * Updates the row of the deployment and, in the same transaction, the last deployment on the version's row; with `isDropped`, deletes the
 * version instead. `writeMore` runs in this transaction.
 */
export async function updateDeployment(
  context: StepContext,
  change: Partial<DeploymentRow>,
  {
    isDropped = false,
    writeMore = async () => {},
  }: { isDropped?: boolean; writeMore?: (tx: Db) => Promise<void> } = {},
): Promise<void> {
  const { app } = context
  const updatedAt = app.clock.now()
  await app.db.transaction(async (tx) => {
    const row = await updateClaimed(tx, context.deployment, { ...change, updatedAt })
    await writeMore(tx)
    const { id, status, failed, squidId } = row
    const type = displayedTypeOf(row)
    const isSwitched = context.deployment.notes.rollout === 'switched'
    if (isDropped) await deleteSquid(tx, squidId)
    else await setLastDeploy(tx, squidId, { id, type, status, failed, running: row.finishedAt === null, isSwitched })
    context.deployment = row
  })
}
