import { z } from 'zod'
import { endpoint, ListOf } from './endpoint.ts'
import { CountParam, IdParam, Time, TimeParam } from './fields.ts'
import { limits } from './limits.ts'
import { logLevels } from './log-levels.ts'

export const LogEntry = z.object({
  id: z.string(),
  timestamp: Time,
  level: z.enum(logLevels),
  /** `init`, `api`, `hasura`, `db`, the processor's name, or `gapContainer`. */
  container: z.string(),
  payload: z.union([z.string(), z.record(z.string(), z.unknown())]),
})
export type LogEntry = z.infer<typeof LogEntry>

/** The public client sends levels in upper case when it lists entries, and in lower case when it follows them. */
const LevelParam = z
  .string()
  .transform((level) => level.toUpperCase())
  // TRACE and WARN are the SDK's names for DEBUG and WARNING.
  .pipe(z.enum([...logLevels, 'TRACE', 'WARN'], `Unknown level. Levels are ${logLevels.join(', ')}.`))

const filters = {
  container: ListOf(z.string().max(63)).optional(),
  level: ListOf(LevelParam).optional(),
  search: z.string().max(500).optional(),
}
const times = { from: TimeParam.optional(), to: TimeParam.optional() }

export const logs = {
  history: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/logs/history',
    access: 'member',
    scope: 'read',
    summary: 'A page of log entries, newest first',
    query: {
      ...filters,
      ...times,
      limit: CountParam('limit', limits.logsPageSizeMax).optional(),
      nextPage: z.string().max(200).optional(),
      /** Id of the first entry of the page. The entry does not have to match the filter. */
      at: IdParam.optional(),
      orderBy: z.enum(['asc', 'desc']).optional(),
    },
    payload: z.object({
      logs: z.array(LogEntry),
      nextPage: z.string().nullable(),
      /** Id of the newest entry, regardless of the filter: `follow` continues after it. */
      lastId: z.string(),
    }),
  }),
  download: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/logs/download',
    access: 'member',
    scope: 'read',
    summary: 'Log entries of a time range as a text file, oldest first',
    query: { ...filters, ...times },
    kind: 'file',
    payload: z.null(),
  }),
  follow: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/squids/{reference}/logs/follow',
    access: 'member',
    scope: 'read',
    summary: 'Log entries as they arrive, with blank lines as heartbeats',
    query: { ...filters, after: IdParam.optional() },
    kind: 'lines',
    payload: LogEntry,
  }),
}
