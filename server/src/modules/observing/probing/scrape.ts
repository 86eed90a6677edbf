import type { PortEndpoint } from '@shoal/runtime'
import { requestContainer } from './request-container.ts'
import { readMetrics, sumMetric } from './prom-text.ts'

/** The progress that a processor reports in its metrics. */
export type ProcessorMetrics = {
  /** −1 before the first block. */
  currentBlock: number
  /** The height of the chain; at least `currentBlock`, and 0 if both are unknown. */
  totalBlocks: number
  blocksPerSecond: number | null
  etaSeconds: number | null
  /** 0 to 1. */
  syncRatio: number | null
  /** Requests to the processor's RPC node since its program started, including failed ones; null if it uses none. */
  rpcRequests: number | null
  /** The number of those requests that failed. */
  rpcFailures: number | null
}

/** Short, so that a program that hangs does not delay the scrapes of others. */
const timeoutMs = 2_000

const lastBlock = 'sqd_processor_last_block'
const chainHeight = 'sqd_processor_chain_height'
const speed = 'sqd_processor_mapping_blocks_per_second'
const eta = 'sqd_processor_sync_eta_seconds'
const ratio = 'sqd_processor_sync_ratio'
const rpcCount = 'sqd_rpc_request_count'
const names = new Set([lastBlock, chainHeight, speed, eta, ratio])

/** Parses a page of metrics; null if it contains no metrics of a processor. */
export function parseProcessorMetrics(text: string): ProcessorMetrics | null {
  const values = readMetrics(text, names)
  const current = wholeNumber(values.get(lastBlock))
  if (current === null) return null
  return {
    currentBlock: current,
    totalBlocks: Math.max(wholeNumber(values.get(chainHeight)) ?? current, current, 0),
    blocksPerSecond: values.get(speed) ?? null,
    etaSeconds: values.get(eta) ?? null,
    syncRatio: values.get(ratio) ?? null,
    rpcRequests: wholeNumber(sumMetric(text, rpcCount, '')),
    rpcFailures: wholeNumber(sumMetric(text, rpcCount, 'kind="failure"')),
  }
}

/** Rounds a block or a count down; null if it is unknown or so large that it is neither: Postgres could not store it. */
function wholeNumber(value: number | null | undefined): number | null {
  const whole = Math.floor(value ?? Number.NaN)
  return Number.isSafeInteger(whole) ? whole : null
}

/** Scrapes a processor's metrics. Returns null if it does not respond: the SDK opens the port only when the data source has responded. */
export async function scrape(endpoint: PortEndpoint): Promise<ProcessorMetrics | null> {
  const response = await requestContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs }).catch(() => null)
  return response?.status === 200 ? parseProcessorMetrics(response.text) : null
}
