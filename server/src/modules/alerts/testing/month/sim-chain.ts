import { minutes, hours } from '../../../../clock.ts'
import { nextHead } from '../../../chains/chain-head.ts'
import type { ChainHead } from '../../../chains/index.ts'
import type { ObservedHead } from '../../../observing/progress/freshness.ts'
import type { SeededRandom } from './seeded-random.ts'
import { planGaps, createEpisodeLookup, type Episode, type Fault } from './episodes.ts'

/** The properties of a simulated chain. */
export type ChainSpec = {
  id: string
  /** Mean block interval. */
  blockMs: number
  /** Whether blocks arrive at random intervals. */
  isIrregular: boolean
  /** Number of later blocks after which a block is final; finality advances in steps of `finalEvery` blocks. */
  finalAfter: number
  finalEvery: number
  /** Whether nodes of the RPC gateway report the head. */
  isWatched: boolean
}

/** A simulated chain, whose nodes report slightly different heads and which the gateways sometimes do not observe. */
export class SimChain {
  readonly spec: ChainSpec
  height = 5_000_000
  final = 0
  /** The recorded observation; null before the first one, or when the chain is not observed. */
  head: ObservedHead | null = null
  readonly #random: SeededRandom
  readonly #unobservedAt: (nowMs: number) => unknown
  #nextBlockMs = 0
  #row: ChainHead | undefined

  constructor(spec: ChainSpec, random: SeededRandom, endMs: number, avoid: readonly Episode<Fault>[]) {
    this.spec = spec
    this.#random = random
    this.#unobservedAt = createEpisodeLookup(
      planGaps(random, endMs, { everyMs: hours(8), durationMs: [minutes(0.5), minutes(10)], avoid }),
    )
  }

  advance(nowMs: number): void {
    const { blockMs, isIrregular, finalAfter, finalEvery, isWatched } = this.spec
    while (this.#nextBlockMs <= nowMs) {
      // Adds several blocks of a fast chain in one step, which makes no difference for an observation every 15 seconds.
      const blocks = isIrregular ? 1 : Math.max(1, Math.floor(5000 / blockMs))
      this.height += blocks
      this.#nextBlockMs += isIrregular ? this.#random.timeToNext(blockMs) : blocks * blockMs
    }
    this.final = Math.floor((this.height - finalAfter) / finalEvery) * finalEvery
    if (isWatched && !this.#unobservedAt(nowMs)) this.#observe(nowMs)
  }

  #observe(nowMs: number): void {
    // Sometimes the best node is unavailable or behind.
    const behind = this.#random.next() < 0.05 ? Math.floor(this.#random.between(1, 4)) : 0
    const observation = { chain: this.spec.id, headBlock: this.height - behind, finalBlock: this.final }
    const last = this.#row
    this.#row = nextHead(last, observation, new Date(nowMs))
    const { headBlock, finalBlock, movedAt, blockRate, observedAt } = this.#row
    this.head = { headBlock, finalBlock, movedAtMs: movedAt.getTime(), blockRate, observedAtMs: observedAt.getTime() }
  }
}
