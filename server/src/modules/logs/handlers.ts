import { limits, type Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { findSquid } from '../squids/index.ts'
import { entryOf } from './entry.ts'
import { filterOf } from './filter.ts'
import { follow } from './follow/follow.ts'
import { createTails } from './follow/tails.ts'
import { readHistory } from './history/read-history.ts'
import type { Place } from './lines-store.ts'

export function logsHandlers(app: App): Handlers<Contract['logs']> {
  const tails = createTails(app)
  return {
    history: async ({ params, query, org, request }) => {
      const squid = await findSquid(app.db, org.id, params.reference)
      const { lines, next } = await readHistory(app.db, {
        squidId: squid.id,
        fromMs: query.from ? timeParam('from', query.from) : null,
        toMs: query.to ? timeParam('to', query.to) : null,
        filter: filterOf(query),
        direction: query.orderBy ?? 'desc',
        after: query.nextPage ? parseNextPage(query.nextPage) : null,
        limit: Math.min(Math.max(Number(query.limit ?? limits.logsPageSize), 1), limits.logsPageSizeMax),
        signal: request.signal,
      })
      return { logs: lines.map(entryOf), nextPage: next && `${next.atMs}.${next.seq}` }
    },
    follow: async ({ params, query, org, request }) => {
      const squid = await findSquid(app.db, org.id, params.reference)
      const afterSeq = query.after ? parseAfter(query.after) : null
      return follow(app, tails, { squidId: squid.id, filter: filterOf(query), afterSeq, signal: request.signal })
    },
  }
}

/** @throws Refusal 400 */
function timeParam(name: string, text: string): number {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw invalidField(name, 'Must be an ISO time')
  return ms
}

/** @throws Refusal 400 */
function parseNextPage(text: string): Place {
  const [, atMs, seq] = /^(-?\d{1,16})\.(\d{1,16})$/.exec(text) ?? []
  if (atMs === undefined || seq === undefined) throw invalidField('nextPage', 'Must be what the page before answered')
  return { atMs: Number(atMs), seq: Number(seq) }
}

/** @throws Refusal 400 */
function parseAfter(text: string): number {
  if (!/^\d{1,16}$/.test(text)) throw invalidField('after', 'Must be the id of an entry')
  return Number(text)
}
