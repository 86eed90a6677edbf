import type { Logger } from 'pino'
import type { ChainService } from '../chain-service.ts'
import type { Block, Upstream } from '../upstream.ts'
import { BlockSource } from './block-source.ts'
import { Branch, type ChainBlock, type BranchChange } from './branch.ts'

/** Number of blocks below the tip that are read at the start, so that a reorganization soon afterwards can be reported. */
const initialBlocks = 16
/** Blocks read per round when catching up. */
const blockBatchSize = 32
/** When all nodes are below the tip for this long, the tip moves back to their highest block. The same time as in `heads.ts`. */
const rollbackAfterMs = 30_000
/** How often implausible logs of a block are read again before they are accepted. */
const maxLogRetries = 3

type Head = Block & { node: Upstream }

type FollowerEvents = {
  /** Called for each change. Each change starts where the previous one ended, regardless of which nodes returned their blocks. */
  onMove: (change: BranchChange) => void
  /**
   * Called when the chain was replaced or rolled back below the oldest block in memory: earlier notifications cannot be
   * corrected.
   */
  onLost: () => void
}

/**
 * Follows the tip of an EVM chain through all of its nodes, by HTTP. After each poll of a node, reads the path from the last
 * announced block to the latest verified head by parent hashes. Leaves a branch only for a higher block, or when no healthy node
 * has its tip any more.
 */
export class Follower {
  readonly #service: ChainService
  readonly #source: BlockSource
  readonly #events: FollowerEvents
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #logRetries = new Map<string, number>()
  #branch: Branch | null = null
  #identity: string | null = null
  #readsLogs = false
  #behindSinceMs: number | null = null
  /** The last call of `#exclusive`, after which the next one runs, so that only one changes the branch at a time. */
  #lastWork: Promise<unknown> = Promise.resolve()

  constructor(service: ChainService, log: Logger, events: FollowerEvents) {
    this.#service = service
    this.#source = new BlockSource(service)
    this.#events = events
    this.#log = log
    void this.#run()
  }

  get tip(): Block | null {
    return this.#branch?.tip ?? null
  }

  /** Resolves to true when changes are announced, with logs if requested; to false when no node returns the tip in time. */
  async ready(withLogs: boolean, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs
    while (!this.#branch) {
      const remainingMs = deadlineMs - performance.now()
      if (remainingMs <= 0 || this.#stop.signal.aborted) return false
      await this.#round()
      if (!this.tip) await this.#service.pool.heads.nextPoll(Math.min(remainingMs, 100))
    }
    if (withLogs && !this.#readsLogs) await this.#exclusive(() => this.#addLogs())
    return true
  }

  /** Stops reading logs. */
  stopReadingLogs(): void {
    this.#readsLogs = false
  }

  stop(): void {
    this.#stop.abort()
  }

  async #run(): Promise<void> {
    const { pool } = this.#service
    while (!this.#stop.signal.aborted) {
      await pool.ready()
      await this.#round()
      await pool.heads.nextPoll(pool.chain.headPollMs)
    }
  }

  #round(): Promise<void> {
    return this.#exclusive(async () => {
      try {
        await (this.#branch ? this.#advance(this.#branch) : this.#start())
      } catch (error) {
        const { chain } = this.#service.pool
        this.#log.warn({ chain: chain.id, error: (error as Error).message }, 'failed to follow the tip of a chain')
      }
    })
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastWork.then(work)
    this.#lastWork = result.catch(() => undefined)
    return result
  }

  /** Returns the heads of the healthy nodes, highest first, each block once. */
  #heads(): Head[] {
    const { healthy } = this.#service.pool.heads
    const heads = healthy.flatMap((node) => (node.head && node.breaker.isClosed ? [{ ...node.head, node }] : []))
    heads.sort((a, b) => b.number - a.number)
    return heads.filter((head, i) => heads.findIndex((other) => other.hash === head.hash) === i)
  }

  async #start(): Promise<void> {
    for (const head of this.#heads()) {
      const top = await this.#source.byHash(head.hash, head.node)
      if (!top) continue
      const blocks = [top]
      const lowest = Math.max(0, top.number - initialBlocks)
      const older = await this.#readRange(lowest, top.number - 1, head.node)
      for (let block = older.pop(); block && block.hash === blocks[0]?.parentHash; block = older.pop())
        blocks.unshift(block)
      this.#branch = new Branch(blocks)
      this.#identity = this.#service.pool.heads.identity
      this.#service.pool.heads.serveLatest()
      return
    }
  }

  async #advance(branch: Branch): Promise<void> {
    if (this.#service.pool.heads.identity !== this.#identity) return this.#discardBranch()
    for (const head of this.#targets(branch)) {
      const path = branch.has(head.hash) ? [] : await this.#pathTo(branch, head)
      if (path === 'unrelated' || path === 'missing') {
        // The branch is lost only if no node has another head: this node may be faulty while others still have the tip.
        if (path === 'unrelated' && this.#heads().every((h) => h.hash === head.hash)) return this.#discardBranch()
        continue
      }
      if (this.#readsLogs && !(await this.#readLogs(path, head.node))) continue
      const change = branch.move(path[0]?.parentHash ?? head.hash, path)
      this.#behindSinceMs = null
      if (this.#readsLogs && change.removed.some((block) => block.logs === null)) return this.#discardBranch()
      for (const block of path) this.#logRetries.delete(block.hash)
      // Announced blocks must also be visible over HTTP.
      this.#service.pool.heads.serveLatest()
      this.#events.onMove(change)
      return
    }
  }

  /** Returns the heads that the tip may move to, best first; empty while the tip is current. */
  #targets({ tip }: Branch): Head[] {
    const heads = this.#heads()
    const higher = heads.filter((head) => head.number > tip.number)
    if (heads.some((head) => head.hash === tip.hash)) {
      this.#behindSinceMs = null
      return higher
    }
    const notLower = heads.filter((head) => head.number >= tip.number)
    if (notLower.length > 0 || heads.length === 0) {
      this.#behindSinceMs = null
      return notLower
    }
    // Lagging nodes usually catch up. If none does, the chain itself was rolled back.
    this.#behindSinceMs ??= performance.now()
    return performance.now() - this.#behindSinceMs < rollbackAfterMs ? [] : heads
  }

  /**
   * Resolves with the blocks between a block of the branch and the head, or the first part of them, oldest first; with `missing` if
   * some of them could not be read; with `unrelated` if they do not descend from a block of the branch.
   */
  async #pathTo(branch: Branch, head: Head): Promise<ChainBlock[] | 'missing' | 'unrelated'> {
    const { tip } = branch
    const upTo = Math.min(head.number, tip.number + blockBatchSize)
    const reachesHead = upTo === head.number
    const top = reachesHead ? await this.#source.byHash(head.hash, head.node) : null
    if (reachesHead && !top) return 'missing'
    if (top?.parentHash === tip.hash) return [top]
    const ahead = await this.#readRange(tip.number + 1, reachesHead ? upTo - 1 : upTo, head.node)
    if (top && top.number > tip.number) ahead.push(top)
    if (ahead.length > 0 && ahead.length === upTo - tip.number && isLinked(tip.hash, ahead)) return ahead
    const start = top ?? ahead.at(-1)
    return start ? this.#pathBack(branch, start, head.node) : 'missing'
  }

  /** Reads the path of a reorganization by parent hashes, from its latest block back to a block of the branch. */
  async #pathBack(branch: Branch, from: ChainBlock, node: Upstream): Promise<ChainBlock[] | 'missing' | 'unrelated'> {
    const path = [from]
    for (let first = from; !branch.has(first.parentHash);) {
      if (first.number <= branch.oldest.number) return 'unrelated'
      const parent = await this.#source.byHash(first.parentHash, node)
      if (!parent) return 'missing'
      path.unshift(parent)
      first = parent
    }
    return path
  }

  /** Reads blocks by ascending number, without those that the node does not have. */
  async #readRange(from: number, to: number, node: Upstream): Promise<ChainBlock[]> {
    const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
    const blocks = await Promise.all(numbers.map((number) => this.#source.byNumber(number, node)))
    return blocks.filter((block) => block !== null)
  }

  /** Reads the logs of the blocks. Resolves to false when logs of a block cannot be read now. */
  async #readLogs(blocks: ChainBlock[], node: Upstream): Promise<boolean> {
    const logsByBlock = await Promise.all(
      blocks.map(async (block) => {
        const retries = this.#logRetries.get(block.hash) ?? 0
        block.logs = await this.#source.logs(block, node, retries >= maxLogRetries)
        if (block.logs === null) this.#logRetries.set(block.hash, retries + 1)
        return block.logs
      }),
    )
    if (this.#logRetries.size > 1_000) this.#logRetries.clear()
    return logsByBlock.every((logs) => logs !== null)
  }

  /** Reads logs of earlier blocks, so that a reorganization soon after a subscription can report them as removed. */
  async #addLogs(): Promise<void> {
    const branch = this.#branch
    if (!branch) return
    const blocksWithoutLogs = branch.newest(initialBlocks).filter((block) => block.logs === null)
    await Promise.all(
      blocksWithoutLogs.map(async (block) => {
        const logs = await this.#source.logs(block, null, true).catch(() => null)
        if (logs) branch.setLogs(block.hash, logs)
      }),
    )
    this.#readsLogs = true
  }

  /** Discards the branch, because earlier notifications cannot be corrected. The next round starts a new one. */
  #discardBranch(): void {
    this.#branch = null
    this.#behindSinceMs = null
    this.#events.onLost()
  }
}

function isLinked(parentHash: string, blocks: readonly ChainBlock[]): boolean {
  return blocks.every((block, i) => block.parentHash === (blocks[i - 1]?.hash ?? parentHash))
}
