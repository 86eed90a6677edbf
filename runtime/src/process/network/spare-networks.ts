import type { NetworkUse } from './network.ts'

/** Delay before a used spare is replaced, so that the creation of the new one does not slow the start of the program that uses the old one. */
const REPLACE_MS = 500

/** Spare networks: one for each use, created in advance, so that the start of a program does not wait for its creation. */
export class SpareNetworks<Created> {
  readonly #create: (use: NetworkUse) => Promise<Created>
  readonly #spares = new Map<NetworkUse, Promise<Created | null>>()
  readonly #timers = new Map<NetworkUse, NodeJS.Timeout>()
  #isRunning = false

  constructor(create: (use: NetworkUse) => Promise<Created>) {
    this.#create = create
  }

  /** Starts to create spares. */
  start(uses: NetworkUse[]): void {
    this.#isRunning = true
    for (const use of uses) this.#prepare(use)
  }

  /** Returns the spare, which the caller now owns, and replaces it soon; null if there is none. */
  async take(use: NetworkUse): Promise<Created | null> {
    const spare = this.#spares.get(use)
    this.#spares.delete(use)
    clearTimeout(this.#timers.get(use))
    this.#timers.set(use, setTimeout(() => this.#prepare(use), REPLACE_MS).unref())
    return (await spare) ?? null
  }

  /** Creates no more spares. Returns those that exist, which the caller now owns. */
  async close(): Promise<Created[]> {
    this.#isRunning = false
    for (const timer of this.#timers.values()) clearTimeout(timer)
    const spares = await Promise.all(this.#spares.values())
    this.#spares.clear()
    return spares.filter((spare) => spare !== null)
  }

  #prepare(use: NetworkUse): void {
    if (!this.#isRunning || this.#spares.has(use)) return
    // Errors are ignored: without a spare, the caller of `take` creates a network itself, and receives its error.
    this.#spares.set(
      use,
      this.#create(use).catch(() => null),
    )
  }
}
