import type { ChainService } from '../chain-service.ts'
import { UpstreamError, type Upstream } from '../upstream.ts'
import { withTimeout } from '../with-timeout.ts'
import type { BlockLog, ChainBlock } from './branch.ts'

/** After this long other nodes are queried instead. */
const blockTimeoutMs = 1_000

const hex = (n: number) => `0x${n.toString(16)}`

/** Fields of a block that are not part of its header. */
const nonHeaderFields = new Set(['transactions', 'uncles', 'withdrawals', 'size', 'totalDifficulty'])

/**
 * Reads blocks and logs of an EVM chain. Queries the node that reported a head first, since others may not have its branch yet,
 * then any node. Blocks are requested by hash where forks matter, so any node's response is valid.
 */
export class BlockSource {
  readonly #service: ChainService

  constructor(service: ChainService) {
    this.#service = service
  }

  /** Null when no node has the block. */
  async byHash(hash: string, first: Upstream): Promise<ChainBlock | null> {
    const block = parseBlock(await this.#read(first, 'eth_getBlockByHash', [hash, false]))
    return block?.hash === hash ? block : null
  }

  /** Null when `node` has no block of this number. */
  async byNumber(number: number, node: Upstream): Promise<ChainBlock | null> {
    const block = parseBlock(await this.#readFrom(node, 'eth_getBlockByNumber', [hex(number), false]))
    return block?.number === number ? block : null
  }

  /** Null when no node returns plausible logs. `acceptUnlikely`: also accept none for a block whose bloom filter announces logs. */
  async logs(block: ChainBlock, first: Upstream | null, acceptUnlikely: boolean): Promise<BlockLog[] | null> {
    const params = [{ blockHash: block.hash }]
    const accepted = (given: unknown) => {
      const found = parseLogs(given, block.hash)
      return found && (found.length > 0 || !block.mayHaveLogs || acceptUnlikely) ? found : null
    }
    const own = first ? accepted(await this.#readFrom(first, 'eth_getLogs', params)) : null
    return own ?? accepted(await this.#readFromAny('eth_getLogs', params))
  }

  async #read(first: Upstream, method: string, params: unknown[]): Promise<unknown> {
    return (await this.#readFrom(first, method, params)) ?? (await this.#readFromAny(method, params))
  }

  /** Null on errors and after the timeout. */
  async #readFrom(node: Upstream, method: string, params: unknown[]): Promise<unknown> {
    if (!node.breaker.isClosed) return null
    node.rate?.owe(1)
    const response = node.query(method, params).catch((error: unknown) => {
      if (error instanceof UpstreamError) node.breaker.failed()
      return null
    })
    const result = await withTimeout(response, blockTimeoutMs)
    return result === 'late' ? null : result
  }

  async #readFromAny(method: string, params: unknown[]): Promise<unknown> {
    const outcome = await this.#service.answer({ method, params })
    if (outcome.kind === 'error') return null
    const parts: Uint8Array[] = []
    if (outcome.kind === 'result') parts.push(outcome.json)
    else for await (const chunk of outcome.chunks) parts.push(chunk)
    return JSON.parse(Buffer.concat(parts).toString()) as unknown
  }
}

function parseBlock(given: unknown): ChainBlock | null {
  if (typeof given !== 'object' || given === null) return null
  const { number, hash, parentHash, logsBloom } = given as Record<string, unknown>
  if (typeof number !== 'string' || typeof hash !== 'string' || typeof parentHash !== 'string') return null
  const header = Object.fromEntries(Object.entries(given).filter(([key]) => !nonHeaderFields.has(key)))
  return {
    number: Number(number),
    hash,
    parentHash,
    header: JSON.stringify(header),
    mayHaveLogs: typeof logsBloom === 'string' && /[1-9a-f]/i.test(logsBloom.slice(2)),
    logs: null,
  }
}

/** Null unless all are logs of this block. */
function parseLogs(given: unknown, blockHash: string): BlockLog[] | null {
  if (!Array.isArray(given)) return null
  const logs: BlockLog[] = []
  for (const log of given as ({ address?: unknown; topics?: unknown; blockHash?: unknown } | null)[]) {
    if (typeof log?.address !== 'string' || !Array.isArray(log.topics) || log.blockHash !== blockHash) return null
    const { removed: _, ...rest } = log as Record<string, unknown>
    const topics = log.topics.map((topic) => String(topic).toLowerCase())
    logs.push({ address: log.address.toLowerCase(), topics, open: JSON.stringify(rest).slice(0, -1) })
  }
  return logs
}
