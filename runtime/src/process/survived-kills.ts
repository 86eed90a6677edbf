/** A program whose child was killed has this long to end because of it. */
const SOON_MS = 2000

/**
 * Tells the kills for memory that ended a run from those that it survived, since the kernel only counts them. A kill that was counted
 * well before the run ended hit a child that the program can do without.
 */
export class SurvivedKills {
  #survived = 0
  #counted = 0
  #countedAtMs = 0

  /** A run has begun: nothing was counted yet. */
  reset(): void {
    this.#survived = 0
    this.#counted = 0
  }

  /** While the run goes on: the kernel has counted so many kills since it began. */
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
