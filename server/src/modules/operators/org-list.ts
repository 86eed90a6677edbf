import {
  operatorPageSize,
  type Contract,
  type OperatorOrg,
  type OperatorOrgSort,
  type PayloadInputOf,
  type QueryOf,
} from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { costsByOrg } from '../billing/index.ts'
import { suspensionOf } from '../orgs/index.ts'
import { cacheFor } from '../../collections/cache-for.ts'
import { sortRows } from './sort-rows.ts'
import { listOrgRows } from './orgs-store.ts'
import { listFirstAdmins } from './squids-store.ts'
import { noUsage } from './usage.ts'
import type { Usage } from './usage-store.ts'

type ListOrgs = Contract['operators']['listOrgs']

const sortKeys: Record<OperatorOrgSort, (org: Omit<OperatorOrg, 'firstAdminEmail'>) => string | number> = {
  name: (org) => (org.name ?? org.code).toLowerCase(),
  status: (org) => `${org.suspension ? 0 : 1} ${org.status}`,
  squids: (org) => org.squids,
  cost: (org) => org.costUsd,
  cpu: (org) => org.usage.cpuCores,
  memory: (org) => org.usage.memoryBytes,
  disk: (org) => org.usage.diskBytes,
  logs: (org) => org.usage.logLines,
  rpc: (org) => org.usage.rpcRequests,
  created: (org) => org.createdAt,
}

/**
 * Returns a function that lists a page of organizations. Names, statuses and suspensions are current. Costs are computed at most every
 * five minutes, because they need the records of all organizations.
 */
export function createOrgList(
  app: App,
  readUsage: () => Promise<Usage>,
): (query: QueryOf<ListOrgs>) => Promise<PayloadInputOf<ListOrgs>> {
  const costs = cacheFor(app, minutes(5), () => costsByOrg(app))
  return async ({ search = '', state, sort = 'name', order = 'asc', offset = 0 }) => {
    const [rows, costByOrg, { byOrg }] = await Promise.all([
      listOrgRows(app.db, { search, state }),
      costs(),
      readUsage(),
    ])
    const all = rows.map(({ createdAt, suspendedAt, suspensionReason, ...row }) => ({
      ...row,
      suspension: suspensionOf({ suspendedAt, suspensionReason }),
      costUsd: costByOrg.get(row.id) ?? 0,
      usage: byOrg.get(row.id) ?? noUsage,
      createdAt: createdAt.toISOString(),
    }))
    const page = sortRows(all, sortKeys[sort], order).slice(offset, offset + operatorPageSize)
    const admins = await listFirstAdmins(
      app.db,
      page.map(({ id }) => id),
    )
    return { orgs: page.map((org) => ({ ...org, firstAdminEmail: admins.get(org.id) ?? null })), total: rows.length }
  }
}
