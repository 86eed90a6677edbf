import { minutes } from '../../../clock.ts'
import { NoConnections, selectSquidDatabase, servers, syncDatabase } from '../../databases/index.ts'
import { DeployFailure } from '../failure.ts'
import { sourceOf } from '../source.ts'
import type { Step } from '../step.ts'

/** Creates or updates the addons of the manifest. */
export const syncAddons: Step = {
  status: 'ADDONS_SYNCING',
  activity: 'Preparing the addons',
  deadlineMs: () => minutes(5),
  run: async (context) => {
    const { app, org, journal } = context
    const squid = await context.squid()
    const { plan } = await sourceOf(context, squid)
    const { isPlayground } = org
    // An earlier deployment may have ended before it could undo its move.
    await context.inClaimedTransaction((tx) => servers.moves.setTarget(tx, squid.id, null))
    const warnings = await syncDatabase(app, {
      squidId: squid.id,
      plan,
      isPlayground,
      inTransaction: context.inClaimedTransaction,
    }).catch((error: unknown) => {
      throw error instanceof NoConnections ? new DeployFailure('REQUIREMENTS', error.message) : error
    })
    for (const warning of warnings) journal.warn(warning)
    if (plan.hasura?.version && plan.hasura.version !== 'latest')
      journal.warn(
        `deploy.addons.hasura.version is ignored: the operator of this installation chooses the version of Hasura.`,
      )
    if (plan.postgres) journal.info('The database is ready')
    else if (await selectSquidDatabase(app.db, squid.id))
      journal.warn(
        'The manifest no longer has the addon postgres. The database is kept, unreachable, until a hard reset or the deletion of the version.',
      )
  },
}
