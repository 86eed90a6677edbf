import type { Logger } from 'pino'
import type { ChainService } from '../chain-service.ts'
import type { Block, Upstream } from '../upstream.ts'
import { BlockSource } from './block-source.ts'
import { Branch, type ChainBlock, type BranchChange } from './branch.ts'

/** Blocks below the tip that are read at the start, so that a reorganization soon after can be reported. */
const blocksAtStart = 16
/** Blocks read per round when catching up. */
const blockBatchSize = 32
/** How long all nodes must be below the tip before it is rolled back, as for heads over HTTP. */
const rollbackAfterMs = 30_000
/** How often unlikely logs of a block are read again before they are accepted. */
const maxLogRetries = 3

type Head = Block & { node: Upstream }

type FollowerEvents = {
  /** Each change starts where the previous one ended, regardless of which nodes served them. */
  moved: (step: BranchChange) => void
  /** The chain was replaced or rolled back further than is kept: earlier announcements cannot be corrected. */
  lost: () => void
}

/**
 * Follows the tip of an EVM chain over all of its nodes, by HTTP. After each poll of a node, it reads the path from the last
 * announced block to the latest verified head by parent hashes. It leaves a branch only for a higher block, or when no healthy
 * node has its tip any more.
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
  /** Serializes work on the branch. */
  #working: Promise<unknown> = Promise.resolve()

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

  /** True when changes are announced from now on, with logs if requested; false when no node returns the tip within the time. */
  async ready(withLogs: boolean, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs
    while (!this.#branch) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0 || this.#stop.signal.aborted) return false
      await this.#round()
      if (!this.tip) await this.#service.pool.heads.nextPoll(Math.min(leftMs, 100))
    }
    if (withLogs && !this.#readsLogs) await this.#exclusive(() => this.#addLogs())
    return true
  }

  /** Stops reading logs. */
  clearLogs(): void {
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
    const done = this.#working.then(work)
    this.#working = done.catch(() => undefined)
    return done
  }

  /** Heads of the healthy nodes, highest first, each block once. */
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
      const lowest = Math.max(0, top.number - blocksAtStart)
      const below = await this.#readRange(lowest, top.number - 1, head.node)
      for (let block = below.pop(); block && block.hash === blocks[0]?.parentHash; block = below.pop())
        blocks.unshift(block)
      this.#branch = new Branch(blocks)
      this.#identity = this.#service.pool.heads.identity
      this.#service.pool.heads.serveLatest()
      return
    }
  }

  async #advance(branch: Branch): Promise<void> {
    if (this.#service.pool.heads.identity !== this.#identity) return this.#lose()
    for (const head of this.#targets(branch)) {
      const path = branch.has(head.hash) ? [] : await this.#pathTo(branch, head)
      if (path === 'unrelated' || path === 'missing') {
        // Lost only if no node has another head: this one may be faulty while others still have the tip.
        if (path === 'unrelated' && this.#heads().every((h) => h.hash === head.hash)) return this.#lose()
        continue
      }
      if (this.#readsLogs && !(await this.#readLogs(path, head.node))) continue
      const step = branch.move(path[0]?.parentHash ?? head.hash, path)
      this.#behindSinceMs = null
      if (this.#readsLogs && step.removed.some((block) => block.logs === null)) return this.#lose()
      for (const block of path) this.#logRetries.delete(block.hash)
      // Announced blocks must also be visible over HTTP.
      this.#service.pool.heads.serveLatest()
      this.#events.moved(step)
      return
    }
  }

  /** Heads that the tip may move to, best first; empty while the tip is current. */
  #targets({ tip }: Branch): Head[] {
    const heads = this.#heads()
    const higher = heads.filter((head) => head.number > tip.number)
    if (heads.some((head) => head.hash === tip.hash)) {
      this.#behindSinceMs = null
      return higher
    }
    const asHigh = heads.filter((head) => head.number >= tip.number)
    if (asHigh.length > 0 || heads.length === 0) {
      this.#behindSinceMs = null
      return asHigh
    }
    // Nodes that are behind usually catch up; if none does, the chain itself was rolled back.
    this.#behindSinceMs ??= performance.now()
    return performance.now() - this.#behindSinceMs < rollbackAfterMs ? [] : heads
  }

  /**
   * The blocks from a kept one (exclusive) to the head or part of the way, oldest first. `missing`: not all could be read;
   * `unrelated`: none of them descends from a kept block.
   */
  async #pathTo(branch: Branch, head: Head): Promise<ChainBlock[] | 'missing' | 'unrelated'> {
    const { tip } = branch
    const upTo = Math.min(head.number, tip.number + blockBatchSize)
    const isWhole = upTo === head.number
    const top = isWhole ? await this.#source.byHash(head.hash, head.node) : null
    if (isWhole && !top) return 'missing'
    if (top?.parentHash === tip.hash) return [top]
    const ahead = await this.#readRange(tip.number + 1, isWhole ? upTo - 1 : upTo, head.node)
    if (top && top.number > tip.number) ahead.push(top)
    if (ahead.length > 0 && ahead.length === upTo - tip.number && isLinked(tip.hash, ahead)) return ahead
    const start = top ?? ahead.at(-1)
    return start ? this.#pathBack(branch, start, head.node) : 'missing'
  }

  /** Path of a reorganization, by parent hashes from its latest block to a kept one. */
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

  /** Blocks by ascending number, without those that the node does not have. */
  async #readRange(from: number, to: number, node: Upstream): Promise<ChainBlock[]> {
    const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
    const blocks = await Promise.all(numbers.map((number) => this.#source.byNumber(number, node)))
    return blocks.filter((block) => block !== null)
  }

  /** False when the logs of some block cannot be read now. */
  async #readLogs(blocks: ChainBlock[], node: Upstream): Promise<boolean> {
    const all = await Promise.all(
      blocks.map(async (block) => {
        const retries = this.#logRetries.get(block.hash) ?? 0
        block.logs = await this.#source.logs(block, node, retries >= maxLogRetries)
        if (block.logs === null) this.#logRetries.set(block.hash, retries + 1)
        return block.logs
      }),
    )
    if (this.#logRetries.size > 1_000) this.#logRetries.clear()
    return all.every((logs) => logs !== null)
  }

  /** Reads logs of earlier blocks: a reorganization soon after a subscription reports them as removed. */
  async #addLogs(): Promise<void> {
    const branch = this.#branch
    if (!branch) return
    const open = branch.newest(blocksAtStart).filter((block) => block.logs === null)
    await Promise.all(
      open.map(async (block) => {
        const logs = await this.#source.logs(block, null, true).catch(() => null)
        if (logs) branch.setLogs(block.hash, logs)
      }),
    )
    this.#readsLogs = true
  }

  #lose(): void {
    this.#branch = null
    this.#behindSinceMs = null
    this.#events.lost()
  }
}

function isLinked(parentHash: string, blocks: readonly ChainBlock[]): boolean {
  return blocks.every((block, i) => block.parentHash === (blocks[i - 1]?.hash ?? parentHash))
}
