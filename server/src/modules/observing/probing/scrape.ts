import type { Endpoint } from '@shoal/runtime'
import { requestContainer } from './request-container.ts'
import { readMetrics, sumMetric } from './prom-text.ts'

/** Where a processor says it is (contract 7). */
export type ProcessorMetrics = {
  /** −1 before the first block. */
  currentBlock: number
  totalBlocks: number
  blocksPerSecond: number | null
  etaSeconds: number | null
  /** 0 to 1. */
  syncRatio: number | null
  /** Requests to its RPC node since its program started, good and bad; null when it asks none. */
  rpcRequests: number | null
  rpcFailures: number | null
}

/** Short, so that one that hangs does not hold up the others. */
const timeoutMs = 2_000

const lastBlock = 'sqd_processor_last_block'
const chainHeight = 'sqd_processor_chain_height'
const speed = 'sqd_processor_mapping_blocks_per_second'
const eta = 'sqd_processor_sync_eta_seconds'
const ratio = 'sqd_processor_sync_ratio'
const rpcCount = 'sqd_rpc_request_count'
const names = new Set([lastBlock, chainHeight, speed, eta, ratio])

/** Null for a page that says nothing of a processor. */
export function processorMetrics(text: string): ProcessorMetrics | null {
  const values = readMetrics(text, names)
  const current = values.get(lastBlock)
  if (current === undefined) return null
  return {
    currentBlock: Math.floor(current),
    totalBlocks: Math.max(Math.floor(values.get(chainHeight) ?? current), Math.floor(current), 0),
    blocksPerSecond: values.get(speed) ?? null,
    etaSeconds: values.get(eta) ?? null,
    syncRatio: values.get(ratio) ?? null,
    rpcRequests: sumMetric(text, rpcCount, ''),
    rpcFailures: sumMetric(text, rpcCount, 'kind="failure"'),
  }
}

/** Null while it does not answer: its port is closed until its data source is ready (contract 7). */
export async function scrape(endpoint: Endpoint): Promise<ProcessorMetrics | null> {
  const answer = await requestContainer(endpoint, { method: 'GET', path: '/metrics', timeoutMs }).catch(() => null)
  return answer?.status === 200 ? processorMetrics(answer.text) : null
}
