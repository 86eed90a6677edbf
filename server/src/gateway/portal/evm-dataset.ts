import type { ChainService } from '../rpc/chain-service.ts'
import { cancelStream } from '../rpc/json-rpc.ts'
import { selectItems, needsReceipts, needsTransactions, portalBlock, type PortalBlock } from './evm-items.ts'
import { logFilter, type EvmQuery, type RawBlock, type RawLog, type RawReceipt } from './evm-query.ts'

/** Blocks read per batch; bounds the memory of responses to slow readers. */
const blockBatchSize = 50
/** Number of ancestors sent to a caller on an abandoned branch, so that the caller finds the last common block. */
const maxAncestors = 32

/** The number and hash of a block. */
export type BlockRef = { number: number; hash: string }

/** The chain could not be read; the caller may retry. */
export class ChainUnreadableError extends Error {
  override name = 'ChainUnreadableError'
}

const hex = (n: number) => `0x${n.toString(16)}`

/** A dataset read from a chain's nodes, in the format of the Portal. */
export class EvmDataset {
  readonly #service: ChainService
  readonly #waitForRate: (calls: number) => Promise<void>

  /** `waitForRate` resolves when as many calls may be sent to the nodes. */
  constructor(service: ChainService, waitForRate: (calls: number) => Promise<void>) {
    this.#service = service
    this.#waitForRate = waitForRate
  }

  /** Reads the latest block or the latest finalized one; null when the node reports none. */
  async head(tag: 'latest' | 'finalized'): Promise<BlockRef | null> {
    const [block] = await this.#call([['eth_getBlockByNumber', [tag, false]]])
    return refOf(block as RawBlock | null)
  }

  /** Resolves after the next poll of a node, or after `timeoutMs`. */
  nextPoll(timeoutMs: number): Promise<void> {
    return this.#service.pool.heads.nextPoll(timeoutMs)
  }

  /** Reads the block with this number; null when the chain has none. */
  async block(number: number): Promise<BlockRef | null> {
    const [block] = await this.#call([['eth_getBlockByNumber', [hex(number), false]]])
    return refOf(block as RawBlock | null)
  }

  /**
   * Resolves to null when the caller's last block is on the chain; otherwise to the chain's blocks below `fromBlock`,
   * oldest first.
   */
  async forkOf({ fromBlock, parentBlockHash }: EvmQuery): Promise<BlockRef[] | null> {
    if (!parentBlockHash || fromBlock === 0) return null
    const parent = await this.block(fromBlock - 1)
    if (parent?.hash === parentBlockHash.toLowerCase()) return null
    const first = Math.max(0, fromBlock - maxAncestors)
    const numbers = Array.from({ length: fromBlock - first }, (_, i) => first + i)
    const blocks = await this.#call(numbers.map((n) => ['eth_getBlockByNumber', [hex(n), false]]))
    return blocks.flatMap((b) => refOf(b as RawBlock | null) ?? [])
  }

  /**
   * Yields the blocks up to `last` that match the query, in order, always with the first and the last block of the range.
   * Ends early when the chain is reorganized.
   * @throws ChainUnreadableError when the nodes do not respond, or the chain changes while it is being read
   */
  async *blocks(query: EvmQuery, last: number): AsyncGenerator<PortalBlock> {
    let parent: string | null = null
    for (let from = query.fromBlock; from <= last; from += blockBatchSize) {
      const to = Math.min(from + blockBatchSize - 1, last)
      const chunk = await this.#chunk(query, from, to, { isFirst: from === query.fromBlock, isLast: to === last })
      if (
        chunk.first !== null &&
        parent !== null &&
        chunk.first.number === hex(from) &&
        chunk.first.parentHash !== parent
      )
        return
      yield* chunk.blocks
      parent = chunk.lastHash
    }
  }

  async #chunk(query: EvmQuery, from: number, to: number, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }) {
    const filter = logFilter(query)
    const range = { fromBlock: hex(from), toBlock: hex(to) }
    const [logs] = filter ? await this.#call([['eth_getLogs', [{ ...range, ...filter }]]]) : [[]]
    const logsByBlock = Map.groupBy(logs as RawLog[], (log) => Number(log.blockNumber))
    const readsAll = query.includeAllBlocks || query.transactions.length > 0
    const numbers = Array.from({ length: to - from + 1 }, (_, i) => from + i).filter(
      // All blocks that are not final are read, to verify that each is the parent of the next.
      (n) => readsAll || logsByBlock.has(n) || n > this.#service.pool.heads.finalNumber || n === from || n === to,
    )
    const withTransactions = needsTransactions(query)
    const blocks = (await this.#call(
      numbers.map((n) => ['eth_getBlockByNumber', [hex(n), withTransactions]]),
    )) as (RawBlock | null)[]
    const loaded = blocks.filter((b): b is RawBlock => b !== null)
    if (loaded.length !== numbers.length || !isConsistent(loaded, logsByBlock))
      throw new ChainUnreadableError('The chain changed while it was being read.')
    const selections = loaded.map((block) => selectItems(query, block, logsByBlock.get(Number(block.number)) ?? []))
    const receipts = await this.#receipts(
      query,
      loaded.filter((_, i) => (selections[i]?.transactions.length ?? 0) > 0),
    )
    const matching = loaded.flatMap((block, i) => {
      const selected = selections[i] ?? { logs: [], transactions: [] }
      const number = Number(block.number)
      const isBoundary = (isFirst && number === from) || (isLast && number === to)
      const isIncluded =
        query.includeAllBlocks || isBoundary || selected.logs.length > 0 || selected.transactions.length > 0
      return isIncluded ? [portalBlock(query, block, selected, receipts.get(block.hash) ?? new Map())] : []
    })
    return { blocks: matching, first: loaded[0] ?? null, lastHash: loaded.at(-1)?.hash ?? null }
  }

  async #receipts(query: EvmQuery, blocks: RawBlock[]): Promise<Map<string, Map<string, RawReceipt>>> {
    if (!needsReceipts(query) || blocks.length === 0) return new Map()
    const responses = await this.#call(blocks.map((b) => ['eth_getBlockReceipts', [b.number]]))
    return new Map(
      blocks.map((block, i) => [
        block.hash,
        new Map(((responses[i] ?? []) as RawReceipt[]).map((r) => [r.transactionIndex, r])),
      ]),
    )
  }

  /** @throws ChainUnreadableError with the message of the node */
  async #call(calls: [method: string, params: unknown[]][]): Promise<unknown[]> {
    await this.#waitForRate(calls.length)
    const outcomes = await this.#service.executeAll(calls.map(([method, params]) => ({ method, params })))
    const results = []
    try {
      for (const outcome of outcomes) {
        if (outcome.kind === 'error') throw new ChainUnreadableError(outcome.error.message)
        const json = outcome.kind === 'result' ? outcome.json : await readFully(outcome.chunks)
        results.push(JSON.parse(json.toString()) as unknown)
      }
    } finally {
      outcomes.forEach(cancelStream)
    }
    return results
  }
}

const refOf = (block: RawBlock | null): BlockRef | null =>
  block ? { number: Number(block.number), hash: block.hash } : null

/** Whether consecutive blocks are linked by parent hash and the logs belong to these blocks. */
function isConsistent(blocks: readonly RawBlock[], logs: ReadonlyMap<number, RawLog[]>): boolean {
  return blocks.every((block, i) => {
    const previous = blocks[i - 1]
    const isChild =
      !previous || Number(previous.number) + 1 !== Number(block.number) || previous.hash === block.parentHash
    return isChild && (logs.get(Number(block.number)) ?? []).every((log) => log.blockHash === block.hash)
  })
}

async function readFully(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}
