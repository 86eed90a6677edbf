import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers } from '../call.ts'
import { findSquid } from './find.ts'
import { selectSquids, selectSquidsOf } from './present-store.ts'
import { presentOneSquid, presentSquids } from './read-squids.ts'

/** The calls that only look; those that change something belong to the deployments that do it. */
export function squidReadHandlers(app: App): Pick<Handlers<Contract['squids']>, 'list' | 'listMine' | 'get'> {
  return {
    listMine: async ({ actor, query }) => presentSquids(app, await selectSquidsOf(app.db, actor.userId, query.name)),
    list: async ({ org, query }) => {
      const rows = await selectSquids(app.db, org.id, query)
      return presentSquids(
        app,
        rows.map((squid) => ({ squid, org })),
      )
    },
    get: async ({ org, params }) => presentOneSquid(app, org, await findSquid(app.db, org.id, params.reference)),
  }
}
