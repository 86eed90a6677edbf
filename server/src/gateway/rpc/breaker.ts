const failuresToOpen = 5
const firstPauseMs = 1_000
const maxPauseMs = 30_000

/**
 * Keeps calls away from a node that fails: after five failures in a row it opens for a second, and for twice as long each time
 * the one call it then lets through fails too.
 */
export class Breaker {
  #failures = 0
  #openings = 0
  #openUntilMs = 0

  /** Whether a call may be tried now. */
  get isClosed(): boolean {
    return performance.now() >= this.#openUntilMs
  }

  succeeded(): void {
    this.#failures = 0
    this.#openings = 0
    this.#openUntilMs = 0
  }

  failed(): void {
    this.#failures += 1
    if (this.#failures < failuresToOpen) return
    this.#openUntilMs = performance.now() + Math.min(maxPauseMs, firstPauseMs * 2 ** this.#openings)
    this.#openings += 1
    // One failure more and it is open again.
    this.#failures = failuresToOpen - 1
  }
}
