const kept = 64
/** Fewer say nothing about the slowest twentieth. */
const enough = 16

/** How long the last answers took. */
export class Latencies {
  readonly #ring = new Float64Array(kept)
  #count = 0
  #p50 = Number.NaN
  #p95 = Number.NaN
  #countedAt = 0

  add(elapsedMs: number): void {
    this.#ring[this.#count % kept] = elapsedMs
    this.#count += 1
  }

  /** Null before there are enough to tell. */
  get p95Ms(): number | null {
    this.#sum()
    return this.#count < enough ? null : this.#p95
  }

  /** Null before the first. */
  get p50Ms(): number | null {
    this.#sum()
    return this.#count === 0 ? null : this.#p50
  }

  /** Sorting for every request would cost more than most requests. */
  #sum(): void {
    if (this.#countedAt >= enough && this.#count - this.#countedAt < enough / 2) return
    this.#countedAt = this.#count
    const sorted = this.#ring.slice(0, Math.min(this.#count, kept)).sort()
    this.#p50 = sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN
  }
}
