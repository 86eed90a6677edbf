/** Numbers that look random and are the same each time (mulberry32). */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  /** Until the next of what happens every `mean` on average, at no certain times. */
  until(mean: number): number {
    return -Math.log(1 - this.next()) * mean
  }

  of<T>(options: readonly [T, ...T[]]): T {
    return options[Math.floor(this.next() * options.length)] ?? options[0]
  }
}
