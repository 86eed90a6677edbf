import type { ChainService } from '../chain-service.ts'
import { UpstreamError, type Upstream } from '../upstream.ts'
import { withTimeout } from '../with-timeout.ts'
import type { BlockLog, ChainBlock } from './branch.ts'

/** How long one node may take before other nodes are queried instead. */
const blockTimeoutMs = 1_000

const hex = (n: number) => `0x${n.toString(16)}`

/** Fields of a block that are not part of its header. */
const nonHeaderFields = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty'])

/**
 * Reads blocks and logs of an EVM chain. First queries the node that reported a head, since others may not have its branch yet,
 * then any node. Requests blocks by hash where forks matter, so the response of any node is valid.
 */
export class BlockSource {
  readonly #service: ChainService

  constructor(service: ChainService) {
    this.#service = service
  }

  /** Reads a block; null when no node has it. */
  async byHash(hash: string, first: Upstream): Promise<ChainBlock | null> {
    const block = parseBlock(await this.#read(first, 'eth_getBlockByHash', [hash, false]))
    return block?.hash === hash ? block : null
  }

  /** Reads a block from one node; null when the node has no block of this number. */
  async byNumber(number: number, node: Upstream): Promise<ChainBlock | null> {
    const block = parseBlock(await this.#readFrom(node, 'eth_getBlockByNumber', [hex(number), false]))
    return block?.number === number ? block : null
  }

  /**
   * Reads the logs of a block; null when no node returns plausible logs.
   * @param acceptEmpty whether to accept an empty list even for a block whose bloom filter indicates logs
   */
  async logs(block: ChainBlock, first: Upstream | null, acceptEmpty: boolean): Promise<BlockLog[] | null> {
    const params = [{ blockHash: block.hash }]
    const parsePlausible = (response: unknown) => {
      const logs = parseLogs(response, block.hash)
      return logs && (logs.length > 0 || !block.mayHaveLogs || acceptEmpty) ? logs : null
    }
    const preferred = first ? parsePlausible(await this.#readFrom(first, 'eth_getLogs', params)) : null
    return preferred ?? parsePlausible(await this.#readFromAny('eth_getLogs', params))
  }

  async #read(first: Upstream, method: string, params: unknown[]): Promise<unknown> {
    return (await this.#readFrom(first, method, params)) ?? (await this.#readFromAny(method, params))
  }

  /** Queries one node; null on errors and after the timeout. */
  async #readFrom(node: Upstream, method: string, params: unknown[]): Promise<unknown> {
    if (!node.breaker.isClosed) return null
    node.rate?.charge(1)
    const response = node.query(method, params).catch((error: unknown) => {
      if (error instanceof UpstreamError) node.breaker.recordFailure()
      return null
    })
    const result = await withTimeout(response, blockTimeoutMs)
    return result === 'late' ? null : result
  }

  async #readFromAny(method: string, params: unknown[]): Promise<unknown> {
    const outcome = await this.#service.execute({ method, params })
    if (outcome.kind === 'error') return null
    const parts: Uint8Array[] = []
    if (outcome.kind === 'result') parts.push(outcome.json)
    else for await (const chunk of outcome.chunks) parts.push(chunk)
    return JSON.parse(Buffer.concat(parts).toString()) as unknown
  }
}

function parseBlock(value: unknown): ChainBlock | null {
  if (typeof value !== 'object' || value === null) return null
  const { number, hash, parentHash, logsBloom } = value as Record<string, unknown>
  if (typeof number !== 'string' || typeof hash !== 'string' || typeof parentHash !== 'string') return null
  const header = Object.fromEntries(Object.entries(value).filter(([key]) => !nonHeaderFields.has(key)))
  return {
    number: Number(number),
    hash,
    parentHash,
    header: JSON.stringify(header),
    mayHaveLogs: typeof logsBloom === 'string' && /[1-9a-f]/i.test(logsBloom.slice(2)),
    logs: null,
  }
}

/** Returns null if any element is not a log of this block. */
function parseLogs(value: unknown, blockHash: string): BlockLog[] | null {
  if (!Array.isArray(value)) return null
  const logs: BlockLog[] = []
  for (const log of value as ({ address?: unknown; topics?: unknown; blockHash?: unknown } | null)[]) {
    if (typeof log?.address !== 'string' || !Array.isArray(log.topics) || log.blockHash !== blockHash) return null
    const { removed: _, ...rest } = log as Record<string, unknown>
    const topics = log.topics.map((topic) => String(topic).toLowerCase())
    logs.push({ address: log.address.toLowerCase(), topics, jsonPrefix: JSON.stringify(rest).slice(0, -1) })
  }
  return logs
}
