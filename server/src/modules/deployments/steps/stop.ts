import { minutes } from '../../../clock.ts'
import { dropDatabase, eraseDatabase } from '../../databases/index.ts'
import { selectSquid, clearDesired } from '../../versions/index.ts'
import { reconcileVersion } from '../settle.ts'
import { sourceOf } from '../source.ts'
import type { Step } from '../step.ts'

/** Ends what runs and erases its data; nothing answers from here until the new generation does. */
export const reset: Step = {
  status: 'RESETTING',
  doing: 'Erasing the data',
  deadlineMs: () => minutes(10),
  run: async (context) => {
    const { app } = context
    const squid = await context.squid()
    const { plan } = await sourceOf(context, squid)
    await context.change((tx) => clearDesired(tx, squid.id))
    await reconcileVersion(context.engine, squid.id)
    // Held while it is erased: the worker that goes on fills it again.
    await context.change(() => (plan.postgres ? eraseDatabase(app, squid.id) : dropDatabase(app, squid.id)))
    context.journal.info('Everything of the version was erased')
  },
}

/** Ends what runs and keeps the data. */
export const hibernate: Step = {
  status: 'SQUID_SYNCING',
  doing: 'Stopping the programs',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, deployment } = context
    const hibernated = { wanted: 'hibernated', hibernatedAt: app.clock.now() } as const
    await context.change((tx) => clearDesired(tx, deployment.squidId, hibernated))
    await reconcileVersion(context.engine, deployment.squidId)
    context.journal.info('All programs have stopped; the data is kept. Restart or deploy to wake it.')
  },
}

/** Ends what runs, for good. */
export const deletePrograms: Step = {
  status: 'SQUID_DELETING',
  doing: 'Stopping the programs',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, deployment } = context
    if (await selectSquid(app.db, deployment.squidId))
      await context.change((tx) => clearDesired(tx, deployment.squidId, { wanted: 'deleted' }))
    await reconcileVersion(context.engine, deployment.squidId)
    context.journal.info('All programs have stopped')
  },
}

export const deleteAddons: Step = {
  status: 'ADDONS_DELETING',
  doing: 'Removing the database',
  deadlineMs: () => minutes(10),
  run: async ({ app, change, deployment, journal }) => {
    await change(() => dropDatabase(app, deployment.squidId))
    journal.info('The database is gone')
  },
}
