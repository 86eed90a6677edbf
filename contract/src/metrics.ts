import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Id, Time, TimeParam } from './fields.ts'

/** The lengths of buckets. The server chooses the length for the range of a request. */
export const timeGroups = ['Minute', 'Hour', 'Day', 'Month'] as const
export type TimeGroup = (typeof timeGroups)[number]

const range = { from: TimeParam.optional(), to: TimeParam.optional() }
/** Counts are decimal strings on the wire, as in SQD Cloud. */
const Count = z.string().regex(/^\d+$/)
const Percentile = z.number().nullable()

/** The number of successful or failed requests (`res`) to one version on one day (spec 3, ingress metric). */
export const IngressCount = z.object({
  time: z.iso.datetime(),
  squidId: Id,
  res: z.enum(['success', 'error']),
  count: Count,
})
export type IngressCount = z.infer<typeof IngressCount>

/** Latencies in milliseconds, from merged histograms of successful requests; null without requests. */
export const IngressPoint = z.object({
  ts: Time,
  success: z.object({
    count: Count,
    bytesSend: Count,
    latency: z.object({ p50: Percentile, p90: Percentile, p95: Percentile, p99: Percentile }),
  }),
  error: z.object({ count: Count, bytesSend: Count }),
})
export type IngressPoint = z.infer<typeof IngressPoint>

const Gauge = z.number().nullable()

/**
 * CPU in cores, memory in MB of 2^20 bytes, both averaged over the bucket; disk in bytes, at its peak. Values of
 * replicas and of processors are summed. Null if there is no sample, which charts show as a gap.
 */
export const UsagePoint = z.object({
  ts: Time,
  apiCpuUsage: Gauge,
  dbCpuUsage: Gauge,
  processorCpuUsage: Gauge,
  apiMemUsageMb: Gauge,
  dbMemUsageMb: Gauge,
  processorMemUsageMb: Gauge,
  apiCpuRequested: Gauge,
  processorCpuRequested: Gauge,
  apiMemRequestedMb: Gauge,
  processorMemRequestedMb: Gauge,
  dbDiskUsedBytes: Gauge,
  dbDiskRequestedBytes: Gauge,
})
export type UsagePoint = z.infer<typeof UsagePoint>

export const metrics = {
  getIngress: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/metrics/ingress',
    access: 'member',
    scope: 'read',
    summary: 'Requests of all versions by day',
    query: range,
    payload: z.array(IngressCount),
  }),
  getSquidIngress: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/metrics/ingress/{squidId}',
    access: 'member',
    scope: 'read',
    summary: 'Requests and latencies of one version',
    query: range,
    payload: z.object({ timeGroup: z.enum(timeGroups), metrics: z.array(IngressPoint) }),
  }),
  getSquidUsage: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/metrics/usage/{squidId}',
    access: 'member',
    scope: 'read',
    summary: 'CPU, memory and disk of one version',
    query: range,
    payload: z.object({ timeGroup: z.enum(timeGroups), metrics: z.array(UsagePoint) }),
  }),
}
