import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { selectSquid, type SquidRow } from '../versions/index.ts'
import { dailyCounts, squidIngress } from './ingress/read-ingress.ts'
import { rangeOf } from './range.ts'
import { squidUsage } from './usage/read-usage.ts'

/** Spec 9: the default range is the last seven days. */
const defaultRangeMs = days(7)

export function metricsHandlers(app: App): Handlers<Contract['metrics']> {
  return {
    getIngress: ({ query, org }) => dailyCounts(app, org.id, rangeOf(query, app.clock.now(), defaultRangeMs)),
    getSquidIngress: async ({ params, query, org }) => {
      const squid = await squidOf(app, org, params.squidId)
      return squidIngress(app, squid.id, rangeOf(query, app.clock.now(), defaultRangeMs))
    },
    getSquidUsage: async ({ params, query, org }) => {
      const squid = await squidOf(app, org, params.squidId)
      return squidUsage(app, squid.id, rangeOf(query, app.clock.now(), defaultRangeMs))
    },
  }
}

/** Returns the version with this id. @throws Refusal 404 if it does not exist or belongs to another organization */
async function squidOf(app: App, org: { id: number }, id: string): Promise<SquidRow> {
  const squid = /^\d{1,15}$/.test(id) ? await selectSquid(app.db, Number(id)) : null
  if (squid?.orgId !== org.id) throw notFound(`Squid ${id.slice(0, 100)}`)
  return squid
}
