import type { Logger } from 'pino'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chain } from '../../modules/rpc/index.ts'
import { Heads } from './heads.ts'
import type { CallPolicy } from './call-policy.ts'
import { protocols, type Protocol } from './protocol.ts'
import { Upstream, type Block } from './upstream.ts'
import { withTimeout } from './with-timeout.ts'

/** A pool nobody asks stops looking at its nodes, which may be other people's. */
const idleMs = 60_000
/** How long a caller waits for a node that is at or above what was served. */
const headWaitMs = 3_000
/** Nodes that are not archives keep the state of about this many blocks. */
const stateKeptBlocks = 128
/** Then the next node is asked how high it is; what the slow one says still counts when it comes. */
const headPollTimeoutMs = 500

/** The nodes of one chain, looked at for as long as somebody asks. */
export class Pool {
  readonly chain: Chain
  readonly protocol: Protocol
  readonly heads: Heads
  readonly upstreams: Upstream[]
  #askedAtMs = -Infinity
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

  /** Somebody asks, or looks: nodes are looked at from now on for a while. */
  touch(): void {
    this.#askedAtMs = performance.now()
    if (this.#stop) return
    const stop = new AbortController()
    this.#stop = stop
    const first = this.upstreams.map((u) => this.heads.look(u))
    this.#isReady = false
    // The first healthy node will do; the others follow.
    this.#ready = Promise.race([
      Promise.all(first),
      ...first.map((look, i) =>
        look.then(() => (this.upstreams[i]?.fault === null ? undefined : new Promise(() => {}))),
      ),
    ]).then(() => (this.#isReady = true))
    this.#loops = this.upstreams.map((u, i) => this.#watch(u, first[i] ?? Promise.resolve(), stop))
  }

  /** Null when calls can be answered; otherwise resolves when a node is healthy, or all were looked at. */
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
      if (performance.now() - this.#askedAtMs > idleMs) {
        stop.abort()
        if (this.#stop === stop) this.#stop = null
        return
      }
      await this.heads.look(upstream)
    }
  }

  /**
   * The best node for a call: healthy, high enough, not over its rate, of the best priority, and likely to answer first.
   * Null when there is none now.
   */
  pick(plan: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Upstream | null {
    const { healthy, best, servedLatest } = this.heads
    const needed =
      plan.height === 'head'
        ? servedLatest
        : plan.height === null
          ? -1
          : Math.min(plan.height, Math.max(best, servedLatest))
    const isOld = plan.needsState && typeof plan.height === 'number' && plan.height < best - stateKeptBlocks
    const hasArchive = isOld && healthy.some((u) => u.settings.archive && !tried?.has(u))
    let chosen: Upstream | null = null
    let lowest = Infinity
    for (const u of healthy) {
      if (tried?.has(u) || (u.head?.number ?? -1) < needed || !u.breaker.isClosed) continue
      if ((hasArchive && !u.settings.archive) || (u.rate && u.rate.waitMs() > 0)) continue
      const expectedMs = (u.latencies(method).p50Ms ?? 0) * (u.inFlight + 1) + u.inFlight
      const cost = u.settings.priority * 1e9 + expectedMs
      if (cost < lowest) [chosen, lowest] = [u, cost]
    }
    chosen?.rate?.take()
    return chosen
  }

  /** As `pick`, but waits a while for a node to catch up, to recover or to be allowed more. */
  async await(plan: CallPolicy, method: string, tried?: ReadonlySet<Upstream>): Promise<Upstream | null> {
    const until = performance.now() + headWaitMs
    for (;;) {
      const found = this.pick(plan, method, tried)
      if (found) return found
      const leftMs = until - performance.now()
      const candidates = this.heads.healthy.filter((u) => !tried?.has(u))
      if (leftMs <= 0 || candidates.length === 0) return null
      await this.heads.news(Math.min(leftMs, 100))
    }
  }

  /** The newest block to tell a caller of, asked for now. Null when no node answers and none was ever seen. */
  async latest(plan: CallPolicy): Promise<Block | null> {
    const tried = new Set<Upstream>()
    for (let upstream = this.pick(plan, 'head', tried); upstream; upstream = this.pick(plan, 'head', tried)) {
      tried.add(upstream)
      const looked = this.heads.refresh(upstream).catch(() => {
        upstream.breaker.failed()
        return false
      })
      if ((await withTimeout(looked, headPollTimeoutMs)) === true) break
    }
    return this.heads.serveLatest()
  }

  /** As `latest`, of what is final; no higher than what a look at the nodes showed last. */
  async latestFinal(): Promise<Block | null> {
    const [fresh] = this.heads.healthy
    if (fresh) await this.heads.look(fresh)
    return this.heads.serveFinal()
  }

  async close(): Promise<void> {
    this.#stop?.abort()
    await Promise.all(this.upstreams.map((u) => u.close()))
    await Promise.all(this.#loops)
  }
}
