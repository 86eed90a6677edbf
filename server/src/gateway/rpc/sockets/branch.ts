/** A log of a block, as notifications contain it. */
export type BlockLog = {
  address: string
  topics: string[]
  /** The log as JSON without `removed` and without the closing brace. */
  jsonPrefix: string
}

/** A block of a chain, as far as subscribers need it. */
export type ChainBlock = {
  number: number
  hash: string
  parentHash: string
  /** The payload of `newHeads` as JSON. */
  header: string
  /** False when the header's bloom filter is empty; some chains always leave it empty. */
  mayHaveLogs: boolean
  /** Null when the logs were not read. */
  logs: BlockLog[] | null
}

/** A change at the tip of a chain. */
export type BranchChange = {
  /** Blocks that no longer belong to the chain, the newest first. */
  removed: ChainBlock[]
  /** Blocks that now belong to it, the oldest first. */
  added: ChainBlock[]
}

/** The latest blocks of a chain as announced to subscribers, each the parent of the next. */
export class Branch {
  readonly #blocks: ChainBlock[]
  readonly #byHash = new Map<string, ChainBlock>()
  readonly #maxBlocks: number
  readonly #maxBytes: number
  #bytes = 0

  /** `blocks` must not be empty. */
  constructor(blocks: readonly ChainBlock[], maxBlocks = 256, maxBytes = 33_554_432) {
    this.#blocks = [...blocks]
    this.#maxBlocks = maxBlocks
    this.#maxBytes = maxBytes
    for (const block of blocks) {
      this.#byHash.set(block.hash, block)
      this.#bytes += bytesOf(block)
    }
  }

  get tip(): ChainBlock {
    return this.#blocks.at(-1) as ChainBlock
  }

  /** The oldest block in memory. */
  get oldest(): ChainBlock {
    return this.#blocks[0] as ChainBlock
  }

  has(hash: string): boolean {
    return this.#byHash.has(hash)
  }

  /** Returns the latest `count` blocks, newest first. */
  newest(count: number): ChainBlock[] {
    return this.#blocks.slice(-count).toReversed()
  }

  /** Adds the logs of a block, if the block is still in memory. */
  setLogs(hash: string, logs: BlockLog[]): void {
    const block = this.#byHash.get(hash)
    if (!block) return
    this.#bytes -= bytesOf(block)
    block.logs = logs
    this.#bytes += bytesOf(block)
  }

  /**
   * Removes the blocks above the one with the hash `to`, and appends `added`, whose first block is its child.
   * @throws Error for an unknown block
   */
  move(to: string, added: ChainBlock[]): BranchChange {
    if (!this.#byHash.has(to)) throw new Error('The branch does not contain this block')
    const removed: ChainBlock[] = []
    while (this.tip.hash !== to) {
      const block = this.#blocks.pop() as ChainBlock
      this.#release(block)
      removed.push(block)
    }
    for (const block of added) {
      this.#blocks.push(block)
      this.#byHash.set(block.hash, block)
      this.#bytes += bytesOf(block)
    }
    while (this.#blocks.length > 1 && (this.#blocks.length > this.#maxBlocks || this.#bytes > this.#maxBytes))
      this.#release(this.#blocks.shift() as ChainBlock)
    return { removed, added }
  }

  #release(block: ChainBlock): void {
    this.#byHash.delete(block.hash)
    this.#bytes -= bytesOf(block)
  }
}

const bytesOf = ({ header, logs }: ChainBlock): number =>
  (logs ?? []).reduce((sum, log) => sum + log.jsonPrefix.length, header.length)
