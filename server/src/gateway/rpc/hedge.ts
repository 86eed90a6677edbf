import type { CallPolicy } from './policy/call-policy.ts'
import type { Pool } from './pool.ts'
import type { Upstream } from './upstream.ts'
import { withTimeout } from './with-timeout.ts'

/** Minimum delay before a call is hedged. With a shorter one, ordinary jitter would cause many hedged calls. */
const minHedgeDelayMs = 25
/** The delay while the latency of the first node is not known yet. */
const defaultHedgeDelayMs = 1_000
/** Maximum share of hedged calls, so that the load does not double when all nodes are slow. */
const maxHedgedShare = 0.1

/** Result of one node; after `inconclusive` another node may return a better one. */
type AttemptResult = { kind: 'conclusive' | 'inconclusive'; from: Upstream }

type HedgeRequest<T extends AttemptResult> = {
  first: Upstream
  policy: CallPolicy
  /** Latency statistics are kept by this name: a method, or a batch size. */
  kind: string
  /** Nodes that already received the call; the second node is added. */
  tried: Set<Upstream>
  /** Never rejects. */
  send: (node: Upstream, signal?: AbortSignal) => Promise<T>
}

/** Sends a call to a second node when the first exceeds its 95th percentile latency. For read-only calls. */
export class Hedger {
  readonly #pool: Pool
  #calls = 1
  #hedged = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Resolves with the first conclusive result, or with the second node's result if neither is conclusive. Never rejects. */
  async send<T extends AttemptResult>({ first, policy, kind, tried, send }: HedgeRequest<T>): Promise<T> {
    if (this.#pool.heads.healthy.length < 2) return send(first)
    this.#calls += 1
    const abortFirst = new AbortController()
    const response = send(first, abortFirst.signal)
    const delayMs = Math.max(minHedgeDelayMs, first.latencies(kind).p95Ms ?? defaultHedgeDelayMs)
    if ((await withTimeout(response, delayMs)) !== 'late') return response
    const second = this.#hedged < this.#calls * maxHedgedShare + 1 ? this.#pool.pick(policy, kind, tried) : null
    if (!second) return response
    this.#hedged += 1
    tried.add(second)
    const abortSecond = new AbortController()
    const winner = await firstConclusive(response, send(second, abortSecond.signal))
    if (winner.kind === 'conclusive') (winner.from === first ? abortSecond : abortFirst).abort()
    return winner
  }
}

/** Resolves with the first conclusive result, or with the result of `b` if neither is conclusive. */
async function firstConclusive<T extends AttemptResult>(a: Promise<T>, b: Promise<T>): Promise<T> {
  const first = await Promise.race([a, b])
  if (first.kind === 'conclusive') return first
  const [resultA, resultB] = await Promise.all([a, b])
  return resultA.kind === 'conclusive' ? resultA : resultB
}
