import { Counter, Gauge, Registry } from 'prom-client'
import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { listLags } from '../../observing/index.ts'
import { percentile } from '../ingress/histogram.ts'
import { selectHistograms } from '../ingress/read-ingress-store.ts'
import { gapMs } from '../sampling/sample.ts'
import { selectSampledTotals, selectIngressTotals, selectNewest } from './current-store.ts'
import { selectLabels, type LabelledSquid } from './series-store.ts'

const squidLabelNames = ['squid_id', 'squid_name', 'squid_slot', 'squid_tags'] as const
const containerLabelNames = [...squidLabelNames, 'container'] as const
/** The period whose requests the latency is computed from. */
const latencyMinutes = 5

/** Returns the current metrics of an organization's versions in Prometheus' text format. Omits unknown values. */
export async function scrapeText({ db, clock }: Pick<App, 'db' | 'clock'>, orgId: number) {
  const nowMs = clock.now().getTime()
  const squids = new Map((await selectLabels(db, orgId)).map((squid) => [squid.id, squid]))
  const ids = [...squids.keys()]
  const sinceMs = nowMs - gapMs
  const [newest, lags, totals, ingress, histograms] = await Promise.all([
    selectNewest(db, ids, sinceMs),
    listLags(db, orgId, { sinceMs, nowMs }),
    selectSampledTotals(db, ids),
    selectIngressTotals(db, ids),
    selectHistograms(db, ids, nowMs - minutes(latencyMinutes)),
  ])
  const registry = new Registry()
  const labelsOf = (squidId: number) => squidLabels(squidId, squids.get(squidId))
  const gauge = <Row extends { squidId: number }>(
    name: string,
    help: string,
    rows: (Row & { container: string })[],
    value: (row: Row) => number | null,
  ) => {
    const metric = new Gauge({ name, help, labelNames: containerLabelNames, registers: [registry] })
    for (const row of rows) {
      const v = value(row)
      if (v !== null) metric.set({ ...labelsOf(row.squidId), container: row.container }, v)
    }
  }
  gauge('shoal_container_cpu_cores', 'Processor time used, in cores.', newest, (s) => s.cpuCores)
  gauge('shoal_container_cpu_limit_cores', 'CPU limit, in cores.', newest, (s) => s.cpuLimitCores)
  gauge(
    'shoal_container_cpu_throttled_ratio',
    'Share of the time in which the container was throttled.',
    newest,
    (s) => s.throttledShare,
  )
  gauge('shoal_container_memory_bytes', 'Memory used.', newest, (s) => s.memoryBytes)
  gauge('shoal_container_memory_limit_bytes', 'Memory limit.', newest, (s) => s.memoryLimitBytes)
  gauge('shoal_database_used_bytes', 'Size of the database.', newest, (s) => s.diskUsedBytes)
  gauge('shoal_database_limit_bytes', 'Storage limit of the database.', newest, (s) => s.diskTotalBytes)
  // The following metrics have the names that the SDK uses.
  gauge('sqd_processor_last_block', 'Last processed block.', newest, (s) => s.lastBlock)
  gauge('sqd_processor_chain_height', 'Height of the chain.', newest, (s) => s.chainHeight)
  gauge('sqd_processor_sync_ratio', 'Share of the chain that is processed.', newest, (s) => s.syncRatio)
  gauge('sqd_processor_sync_eta_seconds', 'Time until the processor has caught up.', newest, (s) => s.etaSeconds)
  gauge('sqd_processor_mapping_blocks_per_second', 'Speed of mapping.', newest, (s) => s.blocksPerSecond)
  const head =
    'the head of the chain, as reported by the nodes of the RPC gateway, otherwise by the data source of the processor.'
  gauge('shoal_processor_lag_blocks', `Blocks behind ${head}`, lags, (s) => s.blocks)
  gauge('shoal_processor_lag_seconds', `Time behind ${head}`, lags, (s) => s.seconds)

  const counter = (name: string, help: string, label: 'container' | 'result' | 'kind' | null) => {
    const labelNames = [
      ...squidLabelNames,
      ...(name.includes('ingress') ? [] : ['container']),
      ...(label ? [label] : []),
    ]
    const metric = new Counter({ name, help, labelNames: [...new Set(labelNames)], registers: [registry] })
    return (squidId: number, labels: Record<string, string>, value: number | null) => {
      if (value !== null) metric.inc({ ...labelsOf(squidId), ...labels }, value)
    }
  }
  const crashes = counter('shoal_container_crashes_total', 'Crashes since the container was first observed.', null)
  const kills = counter('shoal_container_oom_kills_total', 'Kills for exceeding the memory limit.', null)
  const rpc = counter('sqd_rpc_request_count', 'Requests of a processor to its RPC node.', 'kind')
  for (const { squidId, container, ...row } of totals) {
    crashes(squidId, { container }, row.crashes)
    kills(squidId, { container }, row.oomKills)
    rpc(squidId, { container, kind: 'success' }, row.rpcRequests && row.rpcRequests - (row.rpcFailures ?? 0))
    rpc(squidId, { container, kind: 'failure' }, row.rpcFailures)
  }
  const requests = counter('shoal_ingress_requests_total', 'Requests, by result.', 'result')
  const bytes = counter('shoal_ingress_bytes_total', 'Bytes sent.', 'result')
  for (const row of ingress) {
    requests(row.squidId, { result: 'success' }, row.successes)
    requests(row.squidId, { result: 'error' }, row.errors)
    bytes(row.squidId, { result: 'success' }, row.successBytes)
    bytes(row.squidId, { result: 'error' }, row.errorBytes)
  }
  const latency = new Gauge({
    name: 'shoal_ingress_latency_seconds',
    help: `Latency of successful requests of the last ${latencyMinutes} minutes.`,
    labelNames: [...squidLabelNames, 'quantile'],
    registers: [registry],
  })
  for (const [squidId, histogram] of histograms)
    for (const quantile of [0.5, 0.9, 0.95, 0.99]) {
      const ms = percentile(histogram, quantile)
      if (ms !== null) latency.set({ ...labelsOf(squidId), quantile: String(quantile) }, ms / 1000)
    }
  return { contentType: registry.contentType, body: await registry.metrics() }
}

const squidLabels = (squidId: number, squid: LabelledSquid | undefined) => ({
  squid_id: String(squidId),
  squid_name: squid?.name ?? '',
  squid_slot: squid?.slot ?? '',
  squid_tags: squid?.tags.join(',') ?? '',
})
