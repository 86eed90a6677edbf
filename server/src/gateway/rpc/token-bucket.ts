/** Token bucket: refills at `perSecond` and holds at most one second's worth by default. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #most: number
  #tokens: number
  #filledAtMs = performance.now()

  constructor(perSecond: number, capacity = Math.max(1, perSecond)) {
    this.#perSecond = perSecond
    this.#most = capacity
    this.#tokens = capacity
  }

  /** Takes `count` tokens, or none and returns false. A full bucket also admits a count above its capacity and then goes into debt. */
  take(count = 1): boolean {
    this.#fill()
    if (this.#tokens < Math.min(count, this.#most)) return false
    this.#tokens -= count
    return true
  }

  /** Takes `count` tokens unconditionally; the bucket may go into debt. */
  owe(count: number): void {
    this.#fill()
    this.#tokens -= count
  }

  /** Milliseconds until `take(count)` can succeed. */
  waitMs(count = 1): number {
    this.#fill()
    return Math.max(0, ((Math.min(count, this.#most) - this.#tokens) / this.#perSecond) * 1000)
  }

  #fill(): void {
    const nowMs = performance.now()
    this.#tokens = Math.min(this.#most, this.#tokens + ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond)
    this.#filledAtMs = nowMs
  }
}
