/** The clock of the runtime, for backoff and simulations. Tests inject their own. */
export type Clock = {
  now(): Date
  /** Calls back once after `ms`. */
  setTimeout(callback: () => void, ms: number): Timer
}

export type Timer = { cancel(): void }

/** The system clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => new Date(),
  setTimeout(callback, ms) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return { cancel: () => clearTimeout(timer) }
  },
}
