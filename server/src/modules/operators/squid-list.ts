import {
  operatorPageSize,
  type Contract,
  type OperatorSquidSort,
  type OperatorUsage,
  type PayloadInputOf,
  type QueryOf,
} from '@shoal/contract'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { squidStatusOf } from '../squids/index.ts'
import { keepFor } from './keep-for.ts'
import { sortRows } from './sort-rows.ts'
import { listFirstAdmins, listSquidRows } from './squids-store.ts'
import { noUsage } from './usage.ts'
import { usageBySquid } from './usage-store.ts'

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

/** Returns a function that lists a page of versions, by default the one with the most CPU first. Use is computed at most every 30 seconds. */
export function createSquidList(app: App): (query: QueryOf<ListSquids>) => Promise<PayloadInputOf<ListSquids>> {
  const usages = keepFor(app, minutes(0.5), async () => {
    const rows = await usageBySquid(app.db, app.clock.now())
    return new Map(rows.map((row): [number, OperatorUsage] => [row.squidId, row]))
  })
  return async ({ search = '', sort = 'cpu', order = 'desc', offset = 0 }) => {
    const [rows, usage] = await Promise.all([listSquidRows(app.db, search), usages()])
    const all = rows.map((row) => ({ ...row, status: squidStatusOf(row), usage: usage.get(row.id) ?? noUsage }))
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
          ownerEmail: admins.get(orgId) ?? null,
          usage: used,
          deployedAt: deployedMs === null ? null : new Date(deployedMs),
        }),
      ),
      total: rows.length,
    }
  }
}
