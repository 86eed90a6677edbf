import type { CallPolicy } from './call-policy.ts'
import type { Pool } from './pool.ts'
import type { Upstream } from './upstream.ts'
import { withTimeout } from './with-timeout.ts'

/** Hedging sooner would double the calls for the sake of jitter. */
const minHedgeDelayMs = 25
const defaultHedgeDelayMs = 1_000
/** Of what may be hedged at most so much is, so that a slow day of all nodes is not answered with twice the load. */
const maxShare = 0.1

/** What one node came to; after `weak` somebody else may do better. */
type AttemptResult = { kind: 'answered' | 'weak'; from: Upstream }

type HedgeRequest<T extends AttemptResult> = {
  first: Upstream
  plan: CallPolicy
  /** What takes about as long: how long it usually takes is kept by this name. */
  kind: string
  /** Nodes that were asked; a second one is added. */
  tried: Set<Upstream>
  /** Never rejects. */
  send: (node: Upstream, signal?: AbortSignal) => Promise<T>
}

/** Asks a second node when the first takes longer than 95 of 100 of its answers did. Only for what reads. */
export class Hedger {
  readonly #pool: Pool
  #seen = 1
  #hedged = 0

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** The better of the two. Never rejects. */
  async ask<T extends AttemptResult>({ first, plan, kind, tried, send }: HedgeRequest<T>): Promise<T> {
    if (this.#pool.heads.healthy.length < 2) return send(first)
    this.#seen += 1
    const giveUp = new AbortController()
    const answer = send(first, giveUp.signal)
    const afterMs = Math.max(minHedgeDelayMs, first.latencies(kind).p95Ms ?? defaultHedgeDelayMs)
    if ((await withTimeout(answer, afterMs)) !== 'late') return answer
    const second = this.#hedged < this.#seen * maxShare + 1 ? this.#pool.pick(plan, kind, tried) : null
    if (!second) return answer
    this.#hedged += 1
    tried.add(second)
    const giveUpSecond = new AbortController()
    const winner = await firstAnswered(answer, send(second, giveUpSecond.signal))
    if (winner.kind === 'answered') (winner.from === first ? giveUpSecond : giveUp).abort()
    return winner
  }
}

/** The first that answered, or the last that did not. */
async function firstAnswered<T extends AttemptResult>(a: Promise<T>, b: Promise<T>): Promise<T> {
  const first = await Promise.race([a, b])
  if (first.kind === 'answered') return first
  const [one, other] = await Promise.all([a, b])
  return one.kind === 'answered' ? one : other
}
