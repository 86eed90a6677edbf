import { limits, type Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField, notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { parseTime } from '../parse-time.ts'
import { findSquid } from '../versions/index.ts'
import { entryOf } from './entry.ts'
import { filterOf } from './filter.ts'
import { follow } from './follow/follow.ts'
import { createTails } from './follow/tails.ts'
import { downloadHistory } from './history/download.ts'
import type { Direction, LinePosition } from './lines-store.ts'
import { createReader, type LogReader } from './reader.ts'

export function logsHandlers(app: App): Handlers<Contract['logs']> {
  const reader = createReader(app)
  const tails = createTails(app, reader)
  return {
    history: async ({ params, query, org, request }) => {
      const squid = await findSquid(app.db, org.id, params.reference)
      const direction = query.orderBy ?? 'desc'
      const { lines, next, lastSeq } = await reader.history({
        squidId: squid.id,
        ...timesOf(query),
        filter: filterOf(query),
        direction,
        after: query.nextPage
          ? parseNextPage(query.nextPage)
          : query.at !== undefined
            ? await positionBefore(reader, squid.id, query.at, direction)
            : null,
        limit: query.limit ?? limits.logsPageSize,
        signal: request.signal,
      })
      return { logs: lines.map(entryOf), nextPage: next && `${next.atMs}.${next.seq}`, lastId: String(lastSeq) }
    },
    download: async ({ params, query, org, request }) => {
      const squid = await findSquid(app.db, org.id, params.reference)
      const search = { squidId: squid.id, ...timesOf(query), filter: filterOf(query), signal: request.signal }
      return {
        contentType: 'text/plain; charset=utf-8',
        fileName: `${squid.name}@${squid.slot}.log`,
        body: downloadHistory(reader, search),
      }
    },
    follow: async ({ params, query, org, request }) => {
      const squid = await findSquid(app.db, org.id, params.reference)
      const afterSeq = query.after ?? null
      return follow(
        app,
        { tails, reader },
        { squidId: squid.id, filter: filterOf(query), afterSeq, signal: request.signal },
      )
    },
  }
}

/** Returns the time range of a query. @throws Refusal 400 for a time that is not an ISO time */
const timesOf = ({ from, to }: { from?: string | undefined; to?: string | undefined }) => ({
  fromMs: from ? parseTime('from', from) : null,
  toMs: to ? parseTime('to', to) : null,
})

/** Parses the position after which the next page begins. @throws Refusal 400 for text that no page returned */
function parseNextPage(text: string): LinePosition {
  const [, atMs, seq] = /^(-?\d{1,16})\.(\d{1,16})$/.exec(text) ?? []
  if (atMs === undefined || seq === undefined)
    throw invalidField('nextPage', 'Must be the value from the previous page')
  return { atMs: Number(atMs), seq: Number(seq) }
}

/**
 * Returns the position directly before this line, so that a page after it begins with the line.
 * @throws Refusal 404 when the line is no longer stored
 */
async function positionBefore(
  reader: LogReader,
  squidId: number,
  seq: number,
  direction: Direction,
): Promise<LinePosition> {
  const atMs = await reader.timeOf(squidId, seq)
  if (atMs === null) throw notFound('Log line')
  return { atMs, seq: direction === 'desc' ? seq + 1 : seq - 1 }
}
