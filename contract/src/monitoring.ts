import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { TimeParam } from './fields.ts'

/** The names of spec 7, including its spelling of `cpu_trotting`. */
export const monitoringQueries = [
  'cpu_utilization',
  'cpu_trotting',
  'mem_utilization',
  'disk_utilization',
  'crashes',
  'oom_kills',
  'indexed_blocks',
  'indexed_height',
] as const
export type MonitoringQuery = (typeof monitoringQueries)[number]

/**
 * A series of one container of a version. `container` is the name of a container (`api`, `api-2`, `hasura`, a processor), or `db` for the
 * version's database; `squid_tags` are separated by commas. CPU (the mean), memory and disk (the peaks over the bucket) are in percent of
 * the limit, throttling in percent of the time; crashes, kills and blocks are counts per bucket; heights are block numbers. `t`, the start of
 * the bucket, is in Unix seconds. All series of a response have the same times; null means unknown.
 */
export const MonitoringSeries = z.object({
  labels: z.object({ squid_id: z.string(), squid_name: z.string(), container: z.string(), squid_tags: z.string() }),
  values: z.array(z.object({ t: z.number(), v: z.number().nullable() })),
})
export type MonitoringSeries = z.infer<typeof MonitoringSeries>

export const monitoring = {
  scrape: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/monitoring/squids',
    access: 'member',
    scope: 'read',
    summary: 'All versions of the organization as Prometheus text',
    kind: 'file',
    payload: z.null(),
  }),
  query: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/monitoring/squids/{query}',
    access: 'member',
    scope: 'read',
    summary: `Time series of one of: ${monitoringQueries.join(', ')}`,
    query: {
      from: TimeParam.optional(),
      to: TimeParam.optional(),
      /** Maximum number of points per series; 300 by default. In large organizations the server returns fewer. */
      maxPoints: z
        .string()
        .regex(/^\d{1,5}$/)
        .optional(),
    },
    payload: z.array(MonitoringSeries),
  }),
}
