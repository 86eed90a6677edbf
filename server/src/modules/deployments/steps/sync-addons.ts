import { minutes } from '../../../clock.ts'
import { selectSquidDatabase, syncDatabase, whyNoConnections } from '../../databases/index.ts'
import { DeployFailure } from '../failure.ts'
import { sourceOf } from '../source.ts'
import type { Step } from '../step.ts'

/** Creates or updates the addons of the manifest. */
export const syncAddons: Step = {
  status: 'ADDONS_SYNCING',
  doing: 'Preparing the addons',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, org, journal } = context
    const squid = await context.squid()
    const { plan } = await sourceOf(context, squid)
    const { isPlayground } = org
    const programs = { apiReplicas: plan.api?.replicas ?? 0, processors: plan.processors.length }
    const reason = plan.postgres && (await whyNoConnections(app, squid.id, programs))
    // A running version that needs no more connections than before is not refused.
    const isMore =
      !squid.sealedWorkload || programs.apiReplicas > squid.apiReplicas || programs.processors > squid.processors.length
    if (reason && isMore) throw new DeployFailure('REQUIREMENTS', reason)
    for (const sentence of await syncDatabase(app, { squidId: squid.id, plan, isPlayground, change: context.change }))
      journal.warn(sentence)
    if (plan.postgres) journal.info('The database is ready')
    else if (await selectSquidDatabase(app.db, squid.id))
      journal.warn(
        'The manifest no longer has the addon postgres. The database is kept, unreachable, until a hard reset or the deletion of the version.',
      )
  },
}
