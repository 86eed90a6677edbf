import {
  operatorPageSize,
  type Contract,
  type OperatorSquidSort,
  type OperatorUsage,
  type PayloadInputOf,
  type QueryOf,
} from '@shoal/contract'
import type { App } from '../../app.ts'
import { squidStatusOf } from '../squids/index.ts'
import { sortRows } from './sort-rows.ts'
import { listFirstAdmins, listSquidRows } from './squids-store.ts'
import { noUsage } from './usage.ts'
import type { Usage } from './usage-store.ts'

type ListSquids = Contract['operators']['listSquids']
type Listed = { name: string; slot: string; orgCode: string; status: string; usage: OperatorUsage }

const sortKeys: Record<OperatorSquidSort, (squid: Listed) => string | number> = {
  name: ({ name, slot }) => `${name}@${slot}`,
  organization: ({ orgCode }) => orgCode,
  status: ({ status }) => status,
  cpu: ({ usage }) => usage.cpuCores,
  memory: ({ usage }) => usage.memoryBytes,
  disk: ({ usage }) => usage.diskBytes,
  logs: ({ usage }) => usage.logLines,
  rpc: ({ usage }) => usage.rpcRequests,
}

/** Returns a function that lists a page of versions, by default the one with the most CPU first. */
export function createSquidList(
  app: App,
  readUsage: () => Promise<Usage>,
): (query: QueryOf<ListSquids>) => Promise<PayloadInputOf<ListSquids>> {
  return async ({ search = '', sort = 'cpu', order = 'desc', offset = 0 }) => {
    const [rows, { bySquid }] = await Promise.all([listSquidRows(app.db, search), readUsage()])
    const all = rows.map((row) => ({ ...row, status: squidStatusOf(row), usage: bySquid.get(row.id) ?? noUsage }))
    const page = sortRows(all, sortKeys[sort], order).slice(offset, offset + operatorPageSize)
    const admins = await listFirstAdmins(app.db, [...new Set(page.map(({ orgId }) => orgId))])
    return {
      squids: page.map(
        ({ id, name, slot, status, usage: used, orgId, orgCode, orgName, isPlayground, deployedMs }) => ({
          id,
          name,
          slot,
          status,
          organization: { code: orgCode, name: orgName, isPlayground },
          firstAdminEmail: admins.get(orgId) ?? null,
          usage: used,
          deployedAt: deployedMs === null ? null : new Date(deployedMs),
        }),
      ),
      total: rows.length,
    }
  }
}
