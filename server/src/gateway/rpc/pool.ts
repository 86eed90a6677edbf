import type { Logger } from 'pino'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../../modules/chains/index.ts'
import { Heads } from './heads.ts'
import type { CallPolicy } from './policy/call-policy.ts'
import { protocols, type Protocol } from './protocol.ts'
import { Upstream, type Block } from './upstream.ts'
import { withTimeout } from './with-timeout.ts'

/** A pool that is unused for this long stops polling its nodes, which may belong to third parties. */
const idleMs = 60_000
/** How long a call waits for a node that can execute it. */
const headWaitMs = 3_000
/** Nodes other than archive nodes keep the state of about this many blocks. */
const stateHistoryBlocks = 128
/** After this long the next node is polled for its head. A later response is still used. */
const headPollTimeoutMs = 500

/** The nodes of one chain, polled while the chain is in use. */
export class Pool {
  readonly chain: Chain
  readonly protocol: Protocol
  readonly heads: Heads
  readonly upstreams: Upstream[]
  #lastUsedMs = -Infinity
  #polling: AbortController | null = null
  #loops: Promise<void>[] = []
  #ready: Promise<unknown> = Promise.resolve()
  #isReady = false

  constructor(chain: Chain, log: Logger) {
    this.chain = chain
    this.protocol = protocols[chain.type]
    this.upstreams = chain.upstreams.map((settings) => new Upstream(settings))
    this.heads = new Heads(chain, this.protocol, this.upstreams, log)
  }

  /** Whether the nodes are polled. */
  get isActive(): boolean {
    return this.#polling !== null
  }

  /** Marks the pool as used and starts polling its nodes. */
  touch(): void {
    this.#lastUsedMs = performance.now()
    if (this.#polling) return
    const controller = new AbortController()
    this.#polling = controller
    const firstPolls = this.upstreams.map((u) => this.heads.poll(u))
    this.#isReady = false
    // The pool is ready when the first node is healthy, or all were polled.
    this.#ready = Promise.race([
      Promise.all(firstPolls),
      ...firstPolls.map((poll, i) =>
        poll.then(() => (this.upstreams[i]?.fault === null ? undefined : new Promise(() => {}))),
      ),
    ]).then(() => (this.#isReady = true))
    this.#loops = this.upstreams.map((u, i) => this.#watch(u, firstPolls[i] ?? Promise.resolve(), controller))
  }

  /** Returns null if calls can be executed; otherwise a promise that resolves when one node is healthy or all were polled. */
  ready(): Promise<unknown> | null {
    this.touch()
    return this.#isReady ? null : this.#ready
  }

  async #watch(upstream: Upstream, firstPoll: Promise<void>, controller: AbortController): Promise<void> {
    await firstPoll
    const options = { signal: controller.signal, ref: false }
    while (!controller.signal.aborted) {
      await sleep(this.chain.headPollMs, undefined, options).catch(() => undefined)
      if (controller.signal.aborted) return
      if (performance.now() - this.#lastUsedMs > idleMs) {
        controller.abort()
        if (this.#polling === controller) this.#polling = null
        return
      }
      await this.heads.poll(upstream)
    }
  }

  /**
   * Returns the best node for a call, and charges the call to the rate of the node. The node is healthy, high enough, within its
   * rate, of the best priority, and likely to respond first. Returns null when there is none.
   */
  pick(policy: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Upstream | null {
    const minHeight = this.#minHeight(policy)
    const onlyArchive = this.#needsArchive(policy, tried)
    let bestNode: Upstream | null = null
    let minCost = Infinity
    for (const u of this.heads.healthy) {
      if (tried?.has(u) || (onlyArchive && !u.settings.archive) || !u.isAvailable(minHeight)) continue
      const expectedMs = (u.latencies(method).p50Ms ?? 0) * (u.inFlight + 1) + u.inFlight
      const cost = u.settings.priority * 1e9 + expectedMs
      if (cost < minCost) [bestNode, minCost] = [u, cost]
    }
    bestNode?.rate?.take()
    return bestNode
  }

  /** Returns the minimum head of a node for a call. A call for a block that does not exist yet is sent to nodes at the tip. */
  #minHeight({ height }: CallPolicy): number {
    const { best, servedLatest } = this.heads
    if (height === 'head') return servedLatest
    return height === null ? -1 : Math.min(height, Math.max(best, servedLatest))
  }

  /** Whether the call needs old state and there is a healthy archive node that has not been tried. */
  #needsArchive({ needsState, height }: CallPolicy, tried?: ReadonlySet<Upstream>): boolean {
    const { healthy, best } = this.heads
    const isOld = needsState && typeof height === 'number' && height < best - stateHistoryBlocks
    return isOld && healthy.some((u) => u.settings.archive && !tried?.has(u))
  }

  /** Like `pick`, but waits up to three seconds for a node to catch up, recover, or be within its rate again. */
  async waitFor(policy: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Promise<Upstream | null> {
    const deadlineMs = performance.now() + headWaitMs
    for (;;) {
      const upstream = this.pick(policy, method, tried)
      if (upstream) return upstream
      const remainingMs = deadlineMs - performance.now()
      const candidates = this.heads.healthy.filter((u) => !tried?.has(u))
      if (remainingMs <= 0 || candidates.length === 0) return null
      // A node may be within its rate again before the next poll.
      await this.heads.nextPoll(Math.min(remainingMs, 100))
    }
  }

  /** Reads the latest block to serve. Resolves to null when no node has ever responded. */
  async latest(policy: CallPolicy): Promise<Block | null> {
    const tried = new Set<Upstream>()
    for (let upstream = this.pick(policy, 'head', tried); upstream; upstream = this.pick(policy, 'head', tried)) {
      tried.add(upstream)
      const refreshed = this.heads.refresh(upstream).catch(() => {
        upstream.breaker.recordFailure()
        return false
      })
      if ((await withTimeout(refreshed, headPollTimeoutMs)) === true) break
    }
    return this.heads.serveLatest()
  }

  /** Like `latest`, for the finalized block. Polls one node and uses the last polls of the others. */
  async latestFinal(): Promise<Block | null> {
    const [node] = this.heads.healthy
    if (node) await this.heads.poll(node)
    return this.heads.serveFinal()
  }

  async close(): Promise<void> {
    this.#polling?.abort()
    await Promise.all(this.upstreams.map((u) => u.close()))
    await Promise.all(this.#loops)
  }
}
