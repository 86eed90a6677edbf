import type { Contract, Squid } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound, refuse } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { requestGraphql } from './request-graphql.ts'
import { exportDatabase } from '../databases/index.ts'
import { findSquid } from '../versions/index.ts'
import { listPresented, listPresentedOfUser, selectPresented } from './present/present-store.ts'
import { presentOneSquid, presentSquids, presentSummaries } from './present/read-squids.ts'
import { graphqlUrl } from './urls.ts'

const withoutFiles = (squid: Squid): Squid => ({ ...squid, manifest: { current: {}, raw: '' }, packageJson: {} })

/** The read-only endpoints of squids; those that change a version are handled in `deployments`. */
export function squidReadHandlers(
  app: App,
): Pick<Handlers<Contract['squids']>, 'list' | 'listMine' | 'listSummaries' | 'get' | 'exportDatabase' | 'query'> {
  return {
    listMine: async ({ actor, query }) => {
      const rows = await listPresentedOfUser(app.db, actor, query.name)
      return presentSquids(
        app,
        rows.map((squid) => ({ squid, org: { id: squid.orgId, code: squid.orgCode, name: squid.orgName } })),
      )
    },
    list: async ({ org, query }) => {
      const rows = await listPresented(app.db, org.id, query)
      return presentSquids(
        app,
        rows.map((squid) => ({ squid, org })),
      )
    },
    listSummaries: ({ org, query }) => presentSummaries(app, org, query.ids?.split(',').map(Number)),
    get: async ({ org, params, query }) => {
      const { id } = await findSquid(app.db, org.id, params.reference)
      const squid = await selectPresented(app.db, id)
      if (!squid) throw notFound(`Squid ${params.reference}`)
      const presented = await presentOneSquid(app, org, squid)
      return query.files === 'false' ? withoutFiles(presented) : presented
    },
    exportDatabase: async ({ org, params, request }) => {
      if (org.isPlayground) throw refuse('PLAYGROUND', 'Access to databases needs the Pro plan.')
      const { id, name, slot } = await findSquid(app.db, org.id, params.reference)
      const reference = `${name}@${slot}`
      const body = await exportDatabase(app, { squidId: id, reference, signal: request.signal })
      request.audit({ subject: reference })
      return { contentType: 'application/gzip', body, fileName: `${reference}.sql.gz` }
    },
    query: async ({ org, params, body, request }) => {
      const { name, slot } = await findSquid(app.db, org.id, params.reference)
      const url = graphqlUrl(app.config, { orgCode: org.code, name, slot })
      return { response: await requestGraphql(url, body, request.signal) }
    },
  }
}
