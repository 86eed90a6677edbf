import { minutes, hours } from '../../../../clock.ts'
import { nextHead, type ChainHead } from '../../../rpc/chain-head.ts'
import type { ObservedHead } from '../../../observing/progress/freshness.ts'
import type { SeededRandom } from './chance.ts'
import { awayTimes, follow, type Episode, type Fault } from './episodes.ts'

export type ChainSpec = {
  id: string
  /** On average. */
  blockMs: number
  /** Blocks come at no certain times. */
  isIrregular: boolean
  /** A block is final when so many came after it, as far as multiples of `finalEvery`. */
  finalAfter: number
  finalEvery: number
  /** Nodes of our gateway look at it. */
  isWatched: boolean
}

/** A chain with nodes that disagree a little, and gateways that look away now and then. */
export class SimChain {
  readonly spec: ChainSpec
  height = 5_000_000
  final = 0
  /** The recorded observation; null before the first one, or when the chain is not observed. */
  seen: ObservedHead | null = null
  readonly #chance: SeededRandom
  readonly #isUnwatched: (nowMs: number) => unknown
  #nextBlockMs = 0
  #row: ChainHead | undefined

  constructor(spec: ChainSpec, chance: SeededRandom, untilMs: number, not: readonly Episode<Fault>[]) {
    this.spec = spec
    this.#chance = chance
    this.#isUnwatched = follow(awayTimes(chance, untilMs, { everyMs: hours(8), ms: [minutes(0.5), minutes(10)], not }))
  }

  advance(nowMs: number): void {
    const { blockMs, isIrregular, finalAfter, finalEvery, isWatched } = this.spec
    while (this.#nextBlockMs <= nowMs) {
      // Fast chains bring several at once: looked at only every 15 seconds, that is all the same.
      const blocks = isIrregular ? 1 : Math.max(1, Math.floor(5000 / blockMs))
      this.height += blocks
      this.#nextBlockMs += isIrregular ? this.#chance.until(blockMs) : blocks * blockMs
    }
    this.final = Math.floor((this.height - finalAfter) / finalEvery) * finalEvery
    if (isWatched && !this.#isUnwatched(nowMs)) this.#look(nowMs)
  }

  #look(nowMs: number): void {
    // The best node is gone for a moment, or behind.
    const behind = this.#chance.next() < 0.05 ? Math.floor(this.#chance.between(1, 4)) : 0
    const shown = { chain: this.spec.id, headBlock: this.height - behind, finalBlock: this.final }
    const last = this.#row
    this.#row = nextHead(last, shown, new Date(nowMs))
    const { headBlock, finalBlock, movedAt, pace, observedAt } = this.#row
    this.seen = { headBlock, finalBlock, movedAtMs: movedAt.getTime(), pace, observedAtMs: observedAt.getTime() }
  }
}
