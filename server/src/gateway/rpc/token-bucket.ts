/** So many a second, with what a second allows saved up at most. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #most: number
  #tokens: number
  #filledAtMs = performance.now()

  constructor(perSecond: number, most = Math.max(1, perSecond)) {
    this.#perSecond = perSecond
    this.#most = most
    this.#tokens = most
  }

  /** Takes `count`, or nothing and answers false. More than fit at once are let through by a full bucket, which then owes them. */
  take(count = 1): boolean {
    this.#fill()
    if (this.#tokens < Math.min(count, this.#most)) return false
    this.#tokens -= count
    return true
  }

  /** Takes `count` whether they are there or not: the next ones wait for longer. */
  owe(count: number): void {
    this.#fill()
    this.#tokens -= count
  }

  /** Until `take(count)` can succeed. */
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
