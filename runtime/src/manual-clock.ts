import type { RuntimeClock, Timer } from './clock.ts'

type PendingTimer = { at: number; callback: () => void }

/** A clock that moves only when `advance` is called, which runs the due timers in order. */
export class ManualClock implements RuntimeClock {
  #now: number
  readonly #pending = new Set<PendingTimer>()

  constructor(start = new Date('2026-01-15T12:00:00Z')) {
    this.#now = start.getTime()
  }

  now(): Date {
    return new Date(this.#now)
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const pending = { at: this.#now + Math.max(0, ms), callback }
    this.#pending.add(pending)
    return { cancel: () => this.#pending.delete(pending) }
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#nextDue(end); next; next = this.#nextDue(end)) {
      this.#pending.delete(next)
      this.#now = next.at
      next.callback()
    }
    this.#now = end
  }

  /** Returns the first timer that is due by `end`. Timers of the same time run in the order of their creation. */
  #nextDue(end: number): PendingTimer | null {
    let next: PendingTimer | null = null
    for (const pending of this.#pending) if (pending.at <= end && (!next || pending.at < next.at)) next = pending
    return next
  }
}
