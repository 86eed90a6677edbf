/** A random number generator that repeats its sequence for the same seed (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** Returns a number that is uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  /** Returns a number that is uniform in [`low`, `high`). */
  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  /** Returns a random time to the next event of a Poisson process with this mean interval. */
  timeToNext(mean: number): number {
    return -Math.log(1 - this.next()) * mean
  }

  /** Returns one of the options, each with the same probability. */
  pick<T>(options: readonly [T, ...T[]]): T {
    return options[Math.floor(this.next() * options.length)] ?? options[0]
  }
}
