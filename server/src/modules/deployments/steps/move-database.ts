import { minutes } from '../../../clock.ts'
import { isUnavailable } from '../../../db/unavailable.ts'
import { safeText } from '../../../db/safe-error.ts'
import { NoConnections, selectSquidDatabase, servers } from '../../databases/index.ts'
import { openWorkload, type SquidRow } from '../../versions/index.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { addNotes, SupersededError } from '../claim-store.ts'
import { DeployFailure } from '../failure.ts'
import { removeOtherWorkloads } from '../reconcile-version.ts'
import { stopProcessors } from '../rollout.ts'
import type { Step, StepContext } from '../step.ts'
import type { DatabaseMove } from '../tables.ts'
import { endOldGeneration, replaceGeneration } from './sync-squid.ts'

/** The interval at which the log of the deployment shows the progress of a copy. */
const progressEveryMs = 10_000

/**
 * Moves the database of the version to another server: stops the processors, copies the database while the api reads the source, and
 * starts the next generation with the copy. One transaction changes the generation and the server. A failure before it leaves the source
 * unchanged, and the processors start there again; an interrupted move begins again from an empty copy.
 */
export const moveDatabase: Step = {
  status: 'SQUID_SYNCING',
  activity: 'Moving the database',
  deadlineMs: () => minutes(24 * 60),
  run: async (context) => {
    const { app } = context
    const { move } = context.deployment.notes
    if (!move) throw new Error('The notes of this deployment contain no move')
    const squid = await context.squid()
    if (context.deployment.notes.rollout !== 'switched')
      try {
        await copyAndSwitch(context, squid, move)
      } catch (error) {
        throw await undo(context, move, error)
      }
    if (squid.desiredState !== 'hibernated') await endOldGeneration(context, squid)
    // If the old server does not respond, the reconcile loop drops the source later.
    await servers.moves.cleanUp(app, squid.id, move.from).catch((error: unknown) => {
      context.signal.throwIfAborted()
      app.log.warn(
        { err: error, squidId: squid.id, server: move.from },
        'the source of a moved database was not dropped yet',
      )
    })
  },
}

async function copyAndSwitch(context: StepContext, squid: SquidRow, move: DatabaseMove): Promise<void> {
  const { app, journal, engine, signal } = context
  await servers.moves.check(app, squid.id, move.to)
  const old = squid.sealedWorkload ? openWorkload(app.sealer, squid.id, squid.sealedWorkload) : null
  // The next generation of an interrupted attempt may write to the copy, so the copy is made again.
  await removeOtherWorkloads(engine, squid.id, old ? [workloadIdOf(squid.id, squid.generation)] : [])
  await context.saveNotes({ rollout: 'init' })
  await context.inClaimedTransaction((tx) => servers.moves.setTarget(tx, squid.id, move.to))
  const about = move.estimateMs === null ? '' : ` for about ${secondsText(move.estimateMs)}`
  journal.info(
    `Moving the database from "${move.from}" to "${move.to}". The processors stop${about}; the api keeps responding.`,
  )
  const stoppedAt = move.stoppedAt ?? app.clock.now().toISOString()
  await context.saveNotes({ move: { ...move, stoppedAt } })
  if (old) await stopProcessors(context, old)
  let shownAt = performance.now()
  const moving = await servers.moves.copy(app, squid.id, move.to, {
    signal,
    onProgress: (copied, total) => {
      if (performance.now() - shownAt < progressEveryMs) return
      shownAt = performance.now()
      journal.info(`Copied ${megabytes(copied)} of rows; the tables have ${megabytes(total)}`)
    },
  })
  try {
    const { tables, rows, bytes } = moving.copied
    journal.info(`The copy is equal to the source: ${tables} tables with ${rows} rows (${megabytes(bytes)})`)
    if (old) await replaceGeneration(context, squid, moving.switchTo)
    else
      await context.inClaimedTransaction(async (tx) => {
        await moving.switchTo(tx)
        context.deployment = await addNotes(tx, context.deployment, { rollout: 'switched' }, app.clock.now())
      })
    const withoutProcessorsMs = app.clock.now().getTime() - new Date(stoppedAt).getTime()
    journal.info(
      old
        ? `The database is on "${move.to}". No processor ran for ${secondsText(withoutProcessorsMs)}.`
        : `The database is on "${move.to}". The version stays hibernated.`,
    )
  } finally {
    await moving.release()
  }
}

/** Makes new programs use the source again, and returns the error that ends the step. */
async function undo(context: StepContext, move: DatabaseMove, error: unknown): Promise<unknown> {
  const { app, deployment, signal } = context
  // Another worker repeats the move, or the step waits for the source or the database of the control plane.
  if (signal.aborted && !(signal.reason instanceof DeployFailure)) return error
  if (error instanceof SupersededError) return error
  if (isUnavailable(error) && (await servers.unavailable(app, deployment.squidId)) !== null) return error
  if ((await selectSquidDatabase(app.db, deployment.squidId))?.server === move.to) {
    // The connection broke during the commit of the switch. The step is repeated, with the notes of the switch.
    await context.saveNotes({})
    return error
  }
  await context.inClaimedTransaction((tx) => servers.moves.setTarget(tx, deployment.squidId, null))
  await servers.moves
    .cleanUp(app, deployment.squidId, move.to)
    .catch((err: unknown) =>
      app.log.warn({ err, squidId: deployment.squidId }, 'the copy of a failed move was not dropped yet'),
    )
  app.log.warn({ err: error, squidId: deployment.squidId, ...move }, 'the move of a database failed')
  const reason =
    servers.moves.isRefusal(error) || error instanceof NoConnections || error instanceof DeployFailure
      ? error.message
      : isUnavailable(error)
        ? `The Postgres server "${move.to}" does not respond.`
        : safeText(error)
  return new DeployFailure('REQUIREMENTS', `The database was not moved and stays on "${move.from}". ${reason}`)
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const secondsText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
