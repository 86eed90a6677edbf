/** A token bucket that refills at `perSecond` and by default holds at most the tokens of one second. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #capacity: number
  #tokens: number
  #filledAtMs = performance.now()

  constructor(perSecond: number, capacity = Math.max(1, perSecond)) {
    this.#perSecond = perSecond
    this.#capacity = capacity
    this.#tokens = capacity
  }

  /**
   * Takes `count` tokens and returns true, or takes none and returns false. A full bucket also admits a count above its capacity, and
   * its balance then becomes negative.
   */
  take(count = 1): boolean {
    this.#fill()
    if (this.#tokens < Math.min(count, this.#capacity)) return false
    this.#tokens -= count
    return true
  }

  /** Takes `count` tokens unconditionally; the balance may become negative. */
  charge(count: number): void {
    this.#fill()
    this.#tokens -= count
  }

  /** Returns the milliseconds until `take(count)` can succeed. */
  waitMs(count = 1): number {
    this.#fill()
    return Math.max(0, ((Math.min(count, this.#capacity) - this.#tokens) / this.#perSecond) * 1000)
  }

  #fill(): void {
    const nowMs = performance.now()
    this.#tokens = Math.min(this.#capacity, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond)
    this.#filledAtMs = nowMs
  }
}
