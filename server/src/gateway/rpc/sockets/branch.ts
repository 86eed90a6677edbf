/** A log as notifications carry it. */
export type BlockLog = {
  address: string
  topics: string[]
  /** The log as JSON without `removed` and without the closing brace. */
  open: string
}

export type ChainBlock = {
  number: number
  hash: string
  parentHash: string
  /** What `newHeads` sends, as JSON. */
  header: string
  /** False when the header says that there are none; some chains leave that out and always say so. */
  saysLogs: boolean
  /** Null when they were not asked for. */
  logs: BlockLog[] | null
}

/** What changed at the tip of a chain. */
export type Step = {
  /** Blocks that no longer belong to the chain, the newest first. */
  removed: ChainBlock[]
  /** Blocks that now belong to it, the oldest first. */
  added: ChainBlock[]
}

/** The newest blocks of a chain as they were announced to subscribers, each the parent of the next. */
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

  /** The oldest that is kept. */
  get oldest(): ChainBlock {
    return this.#blocks[0] as ChainBlock
  }

  has(hash: string): boolean {
    return this.#byHash.has(hash)
  }

  /** The newest of them first. */
  newest(count: number): ChainBlock[] {
    return this.#blocks.slice(-count).toReversed()
  }

  setLogs(hash: string, logs: BlockLog[]): void {
    const block = this.#byHash.get(hash)
    if (!block) return
    this.#bytes -= bytesOf(block)
    block.logs = logs
    this.#bytes += bytesOf(block)
  }

  /** Makes the block of this hash the tip, and puts `added`, whose first is its child, on top. The block must be kept. */
  move(to: string, added: ChainBlock[]): Step {
    if (!this.#byHash.has(to)) throw new Error('This block is not kept')
    const removed: ChainBlock[] = []
    while (this.tip.hash !== to) {
      const block = this.#blocks.pop() as ChainBlock
      this.#forget(block)
      removed.push(block)
    }
    for (const block of added) {
      this.#blocks.push(block)
      this.#byHash.set(block.hash, block)
      this.#bytes += bytesOf(block)
    }
    while (this.#blocks.length > 1 && (this.#blocks.length > this.#maxBlocks || this.#bytes > this.#maxBytes))
      this.#forget(this.#blocks.shift() as ChainBlock)
    return { removed, added }
  }

  #forget(block: ChainBlock): void {
    this.#byHash.delete(block.hash)
    this.#bytes -= bytesOf(block)
  }
}

const bytesOf = ({ header, logs }: ChainBlock): number =>
  (logs ?? []).reduce((sum, log) => sum + log.open.length, header.length)
