import { minutes } from '../../../clock.ts'
import { dropDatabase, eraseDatabase } from '../../databases/index.ts'
import { selectSquid, switchSquid } from '../../versions/index.ts'
import { reconcileVersion } from '../reconcile-version.ts'
import { sourceOf } from '../source.ts'
import type { Step } from '../step.ts'

/** Stops the programs and erases the data; the version is down until the new generation runs. */
export const reset: Step = {
  status: 'RESETTING',
  activity: 'Erasing the data',
  deadlineMs: () => minutes(10),
  run: async (context) => {
    const { app } = context
    const squid = await context.squid()
    const { plan } = await sourceOf(context, squid)
    await context.inClaimedTransaction((tx) => switchSquid(tx, squid.id, { sealedWorkload: null }))
    await reconcileVersion(context.engine, squid.id)
    // Holds the claim during the erasure, because a worker that resumes the deployment would already start to fill the database.
    await context.inClaimedTransaction(() =>
      plan.postgres ? eraseDatabase(app, squid.id) : dropDatabase(app, squid.id),
    )
    context.journal.info('All data of the version was erased')
  },
}

/** Stops the programs and keeps the data. */
export const hibernate: Step = {
  status: 'SQUID_SYNCING',
  activity: 'Stopping the programs',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, deployment } = context
    const hibernated = { sealedWorkload: null, desiredState: 'hibernated', hibernatedAt: app.clock.now() } as const
    await context.inClaimedTransaction((tx) => switchSquid(tx, deployment.squidId, hibernated))
    await reconcileVersion(context.engine, deployment.squidId)
    context.journal.info(
      'All programs have stopped; the data is kept. Restart or deploy the version to start it again.',
    )
  },
}

/** Stops the programs of a version that is being deleted. */
export const deletePrograms: Step = {
  status: 'SQUID_DELETING',
  activity: 'Stopping the programs',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, deployment } = context
    if (await selectSquid(app.db, deployment.squidId))
      await context.inClaimedTransaction((tx) =>
        switchSquid(tx, deployment.squidId, { sealedWorkload: null, desiredState: 'deleted' }),
      )
    await reconcileVersion(context.engine, deployment.squidId)
    context.journal.info('All programs have stopped')
  },
}

/** Drops the database of a version that is being deleted. */
export const deleteAddons: Step = {
  status: 'ADDONS_DELETING',
  activity: 'Removing the database',
  deadlineMs: () => minutes(10),
  run: async ({ app, inClaimedTransaction, deployment, journal }) => {
    await inClaimedTransaction(() => dropDatabase(app, deployment.squidId))
    journal.info('The database was deleted')
  },
}
