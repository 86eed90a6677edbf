/** An exit within this time after a kill is attributed to it. */
const SOON_MS = 2000

/**
 * Distinguishes out-of-memory kills that ended a run from those that it survived, since the kernel only counts them. A kill well
 * before the end of the run hit a child that the program did not depend on.
 */
export class SurvivedKills {
  #survived = 0
  #counted = 0
  #countedAtMs = 0

  /** Call at the start of a run. */
  reset(): void {
    this.#survived = 0
    this.#counted = 0
  }

  /** Records the kernel's count of kills since the start of the run. */
  record(kills: number, atMs: number): void {
    this.at(atMs)
    if (kills === this.#counted) return
    this.#counted = kills
    this.#countedAtMs = atMs
  }

  /** How many kills a run that ends at `atMs` has survived. */
  at(atMs: number): number {
    if (atMs - this.#countedAtMs >= SOON_MS) this.#survived = this.#counted
    return this.#survived
  }
}
