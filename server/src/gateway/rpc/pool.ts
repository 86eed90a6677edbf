import type { Logger } from 'pino'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../../modules/rpc/index.ts'
import { Heads } from './heads.ts'
import type { CallPolicy } from './policy/call-policy.ts'
import { protocols, type Protocol } from './protocol.ts'
import { Upstream, type Block } from './upstream.ts'
import { withTimeout } from './with-timeout.ts'

/** An unused pool stops polling its nodes, which may belong to third parties. */
const idleMs = 60_000
/** How long a caller waits for a node at or above the served head. */
const headWaitMs = 3_000
/** Nodes other than archive nodes keep the state of about this many blocks. */
const stateKeptBlocks = 128
/** After this long the next node is polled for its head. A late response still counts. */
const headPollTimeoutMs = 500

/** The nodes of one chain, polled while the chain is in use. */
export class Pool {
  readonly chain: Chain
  readonly protocol: Protocol
  readonly heads: Heads
  readonly upstreams: Upstream[]
  #lastUsedMs = -Infinity
  #stop: AbortController | null = null
  #loops: Promise<void>[] = []
  #ready: Promise<unknown> = Promise.resolve()
  #isReady = false

  constructor(chain: Chain, log: Logger) {
    this.chain = chain
    this.protocol = protocols[chain.type]
    this.upstreams = chain.upstreams.map((settings) => new Upstream(settings))
    this.heads = new Heads(chain, this.protocol, this.upstreams, log)
  }

  get isActive(): boolean {
    return this.#stop !== null
  }

  /** Marks the pool as used and starts polling its nodes. */
  touch(): void {
    this.#lastUsedMs = performance.now()
    if (this.#stop) return
    const stop = new AbortController()
    this.#stop = stop
    const first = this.upstreams.map((u) => this.heads.poll(u))
    this.#isReady = false
    // The first healthy node will do; the others follow.
    this.#ready = Promise.race([
      Promise.all(first),
      ...first.map((poll, i) =>
        poll.then(() => (this.upstreams[i]?.fault === null ? undefined : new Promise(() => {}))),
      ),
    ]).then(() => (this.#isReady = true))
    this.#loops = this.upstreams.map((u, i) => this.#watch(u, first[i] ?? Promise.resolve(), stop))
  }

  /** Null when calls can be answered; otherwise resolves when one node is healthy or all were polled. */
  ready(): Promise<unknown> | null {
    this.touch()
    return this.#isReady ? null : this.#ready
  }

  async #watch(upstream: Upstream, first: Promise<void>, stop: AbortController): Promise<void> {
    await first
    const options = { signal: stop.signal, ref: false }
    while (!stop.signal.aborted) {
      await sleep(this.chain.headPollMs, undefined, options).catch(() => undefined)
      if (stop.signal.aborted) return
      if (performance.now() - this.#lastUsedMs > idleMs) {
        stop.abort()
        if (this.#stop === stop) this.#stop = null
        return
      }
      await this.heads.poll(upstream)
    }
  }

  /**
   * The best node for a call: healthy, high enough, within its rate, of the best priority, and likely to respond first.
   * Null when there is none.
   */
  pick(policy: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Upstream | null {
    const minHeight = this.#minHeight(policy)
    const onlyArchive = this.#needsArchive(policy, tried)
    let chosen: Upstream | null = null
    let minCost = Infinity
    for (const u of this.heads.healthy) {
      if (tried?.has(u) || (onlyArchive && !u.settings.archive) || !u.isAvailable(minHeight)) continue
      const expectedMs = (u.latencies(method).p50Ms ?? 0) * (u.inFlight + 1) + u.inFlight
      const cost = u.settings.priority * 1e9 + expectedMs
      if (cost < minCost) [chosen, minCost] = [u, cost]
    }
    chosen?.rate?.take()
    return chosen
  }

  /** The head that a node must have. A call for a block that does not exist yet goes to nodes at the tip. */
  #minHeight({ height }: CallPolicy): number {
    const { best, servedLatest } = this.heads
    if (height === 'head') return servedLatest
    return height === null ? -1 : Math.min(height, Math.max(best, servedLatest))
  }

  /** True for old state, if there is an untried archive node. */
  #needsArchive({ needsState, height }: CallPolicy, tried?: ReadonlySet<Upstream>): boolean {
    const { healthy, best } = this.heads
    const isOld = needsState && typeof height === 'number' && height < best - stateKeptBlocks
    return isOld && healthy.some((u) => u.settings.archive && !tried?.has(u))
  }

  /** As `pick`, but waits up to three seconds for a node to catch up, recover, or regain its rate. */
  async waitFor(policy: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Promise<Upstream | null> {
    const deadline = performance.now() + headWaitMs
    for (;;) {
      const found = this.pick(policy, method, tried)
      if (found) return found
      const leftMs = deadline - performance.now()
      const candidates = this.heads.healthy.filter((u) => !tried?.has(u))
      if (leftMs <= 0 || candidates.length === 0) return null
      await this.heads.nextPoll(Math.min(leftMs, 100))
    }
  }

  /** The latest block to serve, read now. Null when no node responds and none ever did. */
  async latest(policy: CallPolicy): Promise<Block | null> {
    const tried = new Set<Upstream>()
    for (let upstream = this.pick(policy, 'head', tried); upstream; upstream = this.pick(policy, 'head', tried)) {
      tried.add(upstream)
      const refreshed = this.heads.refresh(upstream).catch(() => {
        upstream.breaker.failed()
        return false
      })
      if ((await withTimeout(refreshed, headPollTimeoutMs)) === true) break
    }
    return this.heads.serveLatest()
  }

  /** As `latest`, for the finalized block. Polls one node and otherwise relies on the last polls. */
  async latestFinal(): Promise<Block | null> {
    const [fresh] = this.heads.healthy
    if (fresh) await this.heads.poll(fresh)
    return this.heads.serveFinal()
  }

  async close(): Promise<void> {
    this.#stop?.abort()
    await Promise.all(this.upstreams.map((u) => u.close()))
    await Promise.all(this.#loops)
  }
}
