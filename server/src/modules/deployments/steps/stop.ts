import { minutes } from '../../../clock.ts'
import { dropDatabase, eraseDatabase, selectSquid, wantNothing } from '../../squids/index.ts'
import { settle } from '../settle.ts'
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
    await wantNothing(app.db, squid.id)
    await settle(context.hands, squid.id)
    if (plan.postgres) await eraseDatabase(app, squid.id)
    else await dropDatabase(app, squid.id)
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
    await wantNothing(app.db, deployment.squidId, { wanted: 'hibernated', hibernatedAt: app.clock.now() })
    await settle(context.hands, deployment.squidId)
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
      await wantNothing(app.db, deployment.squidId, { wanted: 'deleted' })
    await settle(context.hands, deployment.squidId)
    context.journal.info('All programs have stopped')
  },
}

export const deleteAddons: Step = {
  status: 'ADDONS_DELETING',
  doing: 'Removing the database',
  deadlineMs: () => minutes(10),
  run: async ({ app, deployment, journal }) => {
    await dropDatabase(app, deployment.squidId)
    journal.info('The database is gone')
  },
}
