/** The clock of the runtime, for backoff and simulations. Tests inject their own. */
export type RuntimeClock = {
  now(): Date
  /** Calls `callback` once after `ms`. */
  setTimeout(callback: () => void, ms: number): Timer
}

export type Timer = { cancel(): void }

/** The system clock. Its timers do not keep the process alive. */
export const systemRuntimeClock: RuntimeClock = {
  now: () => new Date(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}

/** A group of timers that are cancelled together. */
export class Timers {
  readonly #clock: RuntimeClock
  readonly #pending = new Set<Timer>()

  constructor(clock: RuntimeClock) {
    this.#clock = clock
  }

  after(ms: number, callback: () => void): void {
    const timer = this.#clock.setTimeout(() => {
      this.#pending.delete(timer)
      callback()
    }, ms)
    this.#pending.add(timer)
  }

  cancelAll(): void {
    for (const timer of this.#pending) timer.cancel()
    this.#pending.clear()
  }
}
