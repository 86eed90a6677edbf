const failuresToOpen = 5
const firstPauseMs = 1_000
const maxPauseMs = 30_000

/**
 * Circuit breaker of a node. Opens for one second after five failures in a row, then closes. From then on each failure opens it
 * again, for twice as long as before and at most 30 seconds, until a call succeeds.
 */
export class Breaker {
  #failures = 0
  #openings = 0
  #openUntilMs = 0

  /** Whether calls may be sent now. */
  get isClosed(): boolean {
    return performance.now() >= this.#openUntilMs
  }

  recordSuccess(): void {
    this.#failures = 0
    this.#openings = 0
    this.#openUntilMs = 0
  }

  recordFailure(): void {
    this.#failures += 1
    if (this.#failures < failuresToOpen) return
    this.#openUntilMs = performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** this.#openings)
    this.#openings += 1
    // One more failure opens the breaker again.
    this.#failures = failuresToOpen - 1
  }
}

/** The number of latest response times that percentiles are computed from. */
const maxSamples = 64
/** Fewer samples do not give a meaningful 95th percentile. */
const minSamples = 16

/** Percentiles of the latest response times. */
export class Latencies {
  readonly #ring = new Float64Array(maxSamples)
  #count = 0
  #p50 = Number.NaN
  #p95 = Number.NaN
  #computedCount = 0

  add(elapsedMs: number): void {
    this.#ring[this.#count % maxSamples] = elapsedMs
    this.#count += 1
  }

  /** 95th percentile; null before there are enough samples. */
  get p95Ms(): number | null {
    this.#recompute()
    return this.#count < minSamples ? null : this.#p95
  }

  /** Median; null before the first sample. */
  get p50Ms(): number | null {
    this.#recompute()
    return this.#count === 0 ? null : this.#p50
  }

  /** Recomputes only every few samples: sorting for each request would cost more than most requests. */
  #recompute(): void {
    if (this.#computedCount >= minSamples && this.#count - this.#computedCount < minSamples / 2) return
    this.#computedCount = this.#count
    const sorted = this.#ring.slice(0, Math.min(this.#count, maxSamples)).sort()
    this.#p50 = sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)] ?? Number.NaN
  }
}
