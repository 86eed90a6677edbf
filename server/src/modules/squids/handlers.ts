import type { Contract, Squid } from '@shoal/contract'
import { and, asc, desc, eq, ilike } from 'drizzle-orm'
import type { App } from '../../app.ts'
import type { Handlers, OrgScope } from '../call.ts'
import { findSquid } from './find.ts'
import { squidStatusOf } from './status.ts'
import type { SquidRow } from './store.ts'
import { squids } from './tables.ts'
import { tagsOf } from './tags-store.ts'

/** What a version's own row says of it. */
export function squidReadHandlers(app: App): Pick<Handlers<Contract['squids']>, 'list' | 'listMine' | 'get'> {
  return {
    list: async ({ org, query }) => {
      const rows = await app.db
        .select()
        .from(squids)
        .where(
          and(
            eq(squids.orgId, org.id),
            query.name ? eq(squids.name, query.name) : undefined,
            query.search ? ilike(squids.name, `%${query.search}%`) : undefined,
          ),
        )
        .orderBy(asc(squids.name), desc(squids.id))
      return await Promise.all(rows.map((row) => present(app, org, row)))
    },
    listMine: async () => [],
    get: async ({ org, params }) => present(app, org, await findSquid(app.db, org.id, params.reference)),
  }
}

async function present(app: App, org: Pick<OrgScope, 'id' | 'code' | 'name'>, squid: SquidRow): Promise<Squid> {
  const reference = `${squid.name}@${squid.slot}`
  return {
    id: squid.id,
    name: squid.name,
    slot: squid.slot,
    reference,
    fullName: reference,
    description: squid.description,
    tags: (await tagsOf(app.db, squid.id)).map((name) => ({ name })),
    manifest: { current: squid.manifestCurrent, raw: squid.manifestRaw },
    packageJson: squid.packageJson,
    spec: 4,
    status: squidStatusOf(squid),
    addons: {},
    scale: { isDedicated: squid.isDedicated, processorProfile: squid.processorProfile ?? 'collocated' },
    alerts: [],
    lastDeploy: squid.lastDeploy,
    organization: { id: org.id, name: org.name, code: org.code },
    links: { cloudUrl: `${app.config.publicUrl}/squids/${squid.name}/${squid.slot}`, dockerImageUrl: null },
    createdAt: squid.createdAt.toISOString(),
    deployedAt: squid.deployedAt?.toISOString() ?? null,
    hibernatedAt: squid.hibernatedAt?.toISOString() ?? null,
  }
}
