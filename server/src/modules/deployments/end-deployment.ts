import type { StepContext } from './step.ts'
import { dropDatabase, servers } from '../databases/index.ts'
import { selectSquid } from '../versions/index.ts'
import { updateDeployment } from './run-step.ts'
import type { DeployFailure } from './failure.ts'
import { listLastLogs } from './log-store.ts'
import { reconcileVersion } from './reconcile-version.ts'
import { treeKey } from './steps/unpack.ts'

/** The prefix of failure messages after the switch to the new generation. */
const newCodePrefix = 'The new code is running; only a step after the switch to it failed.'

/** Ends a failed deployment. Saves the failure before cleaning up, so that a worker that resumes only cleans up; logs the reason last. */
export async function fail(context: StepContext, failure: DeployFailure): Promise<void> {
  const { app, journal, deployment } = context
  const isSwitched = deployment.notes.rollout === 'switched'
  const hasPrefix = failure.message.startsWith(newCodePrefix)
  if (isSwitched && !hasPrefix) failure.message = `${newCodePrefix} ${failure.message}`
  await context.saveNotes({ failure: { kind: failure.kind, message: failure.message } })
  // The target is still set if a move could not undo its changes, for example because too many workers stopped during it.
  if (deployment.notes.move)
    await context.inClaimedTransaction((tx) => servers.moves.setTarget(tx, deployment.squidId, null))
  await cleanUp(context)
  // An earlier worker may have logged the reason before it died.
  const [lastLine] = deployment.notes.failure ? await listLastLogs(app.db, [deployment.id], 1) : []
  if (lastLine?.message !== failure.message) journal.error(failure.message)
  const isDropped = await dropNeverDeployed(context)
  await finish(context, { failed: failure.kind, failureReason: failure.message }, isDropped)
  app.log.info({ deploymentId: deployment.id, failed: failure.kind }, 'deployment ended')
}

/** Removes the unpacked archive, and restores the containers that ran before. If that fails, the reconcile loop retries. */
async function cleanUp(context: StepContext): Promise<void> {
  const { app, deployment, engine } = context
  try {
    await removeUnpackedArchive(context)
    const signal = AbortSignal.any([engine.signal, AbortSignal.timeout(60_000)])
    await reconcileVersion({ ...engine, signal }, deployment.squidId)
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn({ err: error, deploymentId: deployment.id }, 'clean-up failed; the reconcile loop will retry it')
  }
}

/**
 * Drops the database of a version whose first deployment failed, so that it is not billed. Returns whether the version's row may be
 * deleted too, so that its name can be reused; the deployment and its log remain.
 */
async function dropNeverDeployed(context: StepContext): Promise<boolean> {
  const { app, deployment, journal, engine } = context
  const squid = await selectSquid(app.db, deployment.squidId)
  if (squid === null || squid.image !== null) return false
  // The redactor contains the database's password only while the database exists.
  await journal.flush()
  try {
    await dropDatabase(app, squid.id)
    return true
  } catch (error) {
    engine.signal.throwIfAborted()
    app.log.warn(
      { err: error, deploymentId: deployment.id },
      'failed to drop a version that never ran; the reconcile loop will retry it',
    )
    return false
  }
}

/** Removes the unpacked archive of the deployment, if it has one. */
export async function removeUnpackedArchive({ app, deployment }: StepContext): Promise<void> {
  if (deployment.uploadId) await app.builder.removeTree(treeKey(deployment.id))
}

type DeploymentOutcome = { status: 'OK' } | { failed: DeployFailure['kind']; failureReason: string }

/** Writes the pending log lines, and records the end of the deployment. With `isDropped`, deletes the row of the version too. */
export async function finish(context: StepContext, outcome: DeploymentOutcome, isDropped = false): Promise<void> {
  await context.journal.flush()
  await updateDeployment(
    context,
    { ...outcome, notes: {}, deadlineAt: null, finishedAt: context.app.clock.now() },
    { isDropped },
  )
}
