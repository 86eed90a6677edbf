import { minutes, hours } from '../../../../clock.ts'
import { nextHead, type ChainHead } from '../../../rpc/chain-head.ts'
import type { ObservedHead } from '../../../observing/progress/freshness.ts'
import type { SeededRandom } from './chance.ts'
import { awayTimes, follow, type Episode, type Fault } from './episodes.ts'

export type ChainSpec = {
  id: string
  /** Mean block interval. */
  blockMs: number
  /** Blocks arrive at random intervals. */
  isIrregular: boolean
  /** Number of later blocks after which a block is final; finality advances in steps of `finalEvery` blocks. */
  finalAfter: number
  finalEvery: number
  /** Nodes of our gateway report its head. */
  isWatched: boolean
}

/** A chain whose nodes differ slightly, and whose gateways sometimes do not observe it. */
export class SimChain {
  readonly spec: ChainSpec
  height = 5_000_000
  final = 0
  /** The recorded observation; null before the first one, or when the chain is not observed. */
  seen: ObservedHead | null = null
  readonly #random: SeededRandom
  readonly #unobservedAt: (nowMs: number) => unknown
  #nextBlockMs = 0
  #row: ChainHead | undefined

  constructor(spec: ChainSpec, random: SeededRandom, endMs: number, notNear: readonly Episode<Fault>[]) {
    this.spec = spec
    this.#random = random
    this.#unobservedAt = follow(
      awayTimes(random, endMs, { everyMs: hours(8), ms: [minutes(0.5), minutes(10)], notNear }),
    )
  }

  advance(nowMs: number): void {
    const { blockMs, isIrregular, finalAfter, finalEvery, isWatched } = this.spec
    while (this.#nextBlockMs <= nowMs) {
      // Adds several blocks of a fast chain in one step: with a reading every 15 seconds it makes no difference.
      const blocks = isIrregular ? 1 : Math.max(1, Math.floor(5000 / blockMs))
      this.height += blocks
      this.#nextBlockMs += isIrregular ? this.#random.until(blockMs) : blocks * blockMs
    }
    this.final = Math.floor((this.height - finalAfter) / finalEvery) * finalEvery
    if (isWatched && !this.#unobservedAt(nowMs)) this.#observe(nowMs)
  }

  #observe(nowMs: number): void {
    // The best node is briefly unavailable or behind.
    const behind = this.#random.next() < 0.05 ? Math.floor(this.#random.between(1, 4)) : 0
    const shown = { chain: this.spec.id, headBlock: this.height - behind, finalBlock: this.final }
    const last = this.#row
    this.#row = nextHead(last, shown, new Date(nowMs))
    const { headBlock, finalBlock, movedAt, pace, observedAt } = this.#row
    this.seen = { headBlock, finalBlock, movedAtMs: movedAt.getTime(), pace, observedAtMs: observedAt.getTime() }
  }
}
