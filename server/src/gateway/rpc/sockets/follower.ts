import type { Logger } from 'pino'
import type { ChainService } from '../chain-service.ts'
import type { Block, Upstream } from '../upstream.ts'
import { BlockSource } from './block-source.ts'
import { Branch, type ChainBlock, type Step } from './branch.ts'

/** Blocks below the tip that are read when following begins, so that a reorganization soon after can be told. */
const blocksAtStart = 16
/** Blocks read in one go when nodes were away for long. */
const blockBatchSize = 32
/** How long all nodes must be below the tip before it is taken back, as for heads over HTTP. */
const rollbackAfterMs = 30_000
/** How often an unlikely answer for the logs of a block is asked for again before it is believed. */
const maxDoubts = 3

type Head = Block & { node: Upstream }

type FollowerEvents = {
  /** Each step begins where the one before ended, whichever nodes came and went in between. */
  moved: (step: Step) => void
  /** The chain was replaced, or went back further than is kept: what was announced cannot be corrected. */
  lost: () => void
}

/**
 * Follows the tip of an EVM chain over all of its nodes, which are asked over HTTP: at each look of the pool at a node, the way
 * from the last announced block to the newest shown one is read, by parent hashes. A branch is left only for a higher block, or
 * when no healthy node shows its tip any longer.
 */
export class Follower {
  readonly #service: ChainService
  readonly #source: BlockSource
  readonly #events: FollowerEvents
  readonly #log: Logger
  readonly #stop = new AbortController()
  readonly #doubts = new Map<string, number>()
  #branch: Branch | null = null
  #identity: string | null = null
  #wantsLogs = false
  #behindSinceMs: number | null = null
  /** Work on the branch, one after the other. */
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

  /** True when steps are announced from now on, with logs if wanted; false when no node shows the tip of the chain within the time. */
  async ready(withLogs: boolean, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs
    while (!this.#branch) {
      const leftMs = deadline - performance.now()
      if (leftMs <= 0 || this.#stop.signal.aborted) return false
      await this.#round()
      if (!this.tip) await this.#service.pool.heads.news(Math.min(leftMs, 100))
    }
    if (withLogs && !this.#wantsLogs) await this.#exclusive(() => this.#addLogs())
    return true
  }

  /** Steps need no logs from now on. */
  clearLogs(): void {
    this.#wantsLogs = false
  }

  stop(): void {
    this.#stop.abort()
  }

  async #run(): Promise<void> {
    const { pool } = this.#service
    while (!this.#stop.signal.aborted) {
      await pool.ready()
      await this.#round()
      await pool.heads.news(pool.chain.headPollMs)
    }
  }

  #round(): Promise<void> {
    return this.#exclusive(async () => {
      try {
        await (this.#branch ? this.#advance(this.#branch) : this.#begin())
      } catch (error) {
        const { chain } = this.#service.pool
        this.#log.warn({ chain: chain.id, error: (error as Error).message }, 'the tip of a chain could not be followed')
      }
    })
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#working.then(work)
    this.#working = done.catch(() => undefined)
    return done
  }

  /** The highest first, each block once. */
  #heads(): Head[] {
    const { healthy } = this.#service.pool.heads
    const heads = healthy.flatMap((node) => (node.head && node.breaker.isClosed ? [{ ...node.head, node }] : []))
    heads.sort((a, b) => b.number - a.number)
    return heads.filter((head, i) => heads.findIndex((other) => other.hash === head.hash) === i)
  }

  async #begin(): Promise<void> {
    for (const head of this.#heads()) {
      const top = await this.#source.byHash(head.hash, head.node)
      if (!top) continue
      const blocks = [top]
      const lowest = Math.max(0, top.number - blocksAtStart)
      const below = await this.#numbers(lowest, top.number - 1, head.node)
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
        // A node that lost the branch, or a liar, while another still shows the tip.
        if (path === 'unrelated' && this.#heads().every((h) => h.hash === head.hash)) return this.#lose()
        continue
      }
      if (this.#wantsLogs && !(await this.#readLogs(path, head.node))) continue
      const step = branch.move(path[0]?.parentHash ?? head.hash, path)
      this.#behindSinceMs = null
      if (this.#wantsLogs && step.removed.some((block) => block.logs === null)) return this.#lose()
      for (const block of path) this.#doubts.delete(block.hash)
      // What was announced here must not be denied over HTTP.
      this.#service.pool.heads.serveLatest()
      this.#events.moved(step)
      return
    }
  }

  /** Where the tip may move to, the best first; none while it is where it should be. */
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
    // Nodes that are behind catch up; only when none does has the chain itself gone back.
    this.#behindSinceMs ??= performance.now()
    return performance.now() - this.#behindSinceMs < rollbackAfterMs ? [] : heads
  }

  /**
   * The blocks from a kept one (not included) to the head or part of the way, the oldest first. `missing`: not all could be read;
   * `unrelated`: they lead to none that is kept.
   */
  async #pathTo(branch: Branch, head: Head): Promise<ChainBlock[] | 'missing' | 'unrelated'> {
    const { tip } = branch
    const upTo = Math.min(head.number, tip.number + blockBatchSize)
    const isWhole = upTo === head.number
    const top = isWhole ? await this.#source.byHash(head.hash, head.node) : null
    if (isWhole && !top) return 'missing'
    if (top?.parentHash === tip.hash) return [top]
    const ahead = await this.#numbers(tip.number + 1, isWhole ? upTo - 1 : upTo, head.node)
    if (top && top.number > tip.number) ahead.push(top)
    if (ahead.length > 0 && ahead.length === upTo - tip.number && isLinked(tip.hash, ahead)) return ahead
    const start = top ?? ahead.at(-1)
    return start ? this.#back(branch, start, head.node) : 'missing'
  }

  /** Of a reorganization: by parent hashes from its newest block to a kept one. */
  async #back(branch: Branch, from: ChainBlock, node: Upstream): Promise<ChainBlock[] | 'missing' | 'unrelated'> {
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

  /** Ascending; those that the node does not have are left out. */
  async #numbers(from: number, to: number, node: Upstream): Promise<ChainBlock[]> {
    const numbers = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
    const blocks = await Promise.all(numbers.map((number) => this.#source.byNumber(number, node)))
    return blocks.filter((block) => block !== null)
  }

  /** False when the logs of a block cannot be had now. */
  async #readLogs(blocks: ChainBlock[], node: Upstream): Promise<boolean> {
    const all = await Promise.all(
      blocks.map(async (block) => {
        const doubts = this.#doubts.get(block.hash) ?? 0
        block.logs = await this.#source.logs(block, node, doubts >= maxDoubts)
        if (block.logs === null) this.#doubts.set(block.hash, doubts + 1)
        return block.logs
      }),
    )
    if (this.#doubts.size > 1_000) this.#doubts.clear()
    return all.every((logs) => logs !== null)
  }

  /** A reorganization soon after a subscription takes back logs of blocks before it: they must be known. */
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
    this.#wantsLogs = true
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
