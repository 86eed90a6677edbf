import type { Clock, Timer } from './clock.ts'

type Waiting = { at: number; callback: () => void }

/** A clock that advances only by calls of `advance`, which runs due timers in order. */
export class ManualClock implements Clock {
  #now: number
  readonly #waiting = new Set<Waiting>()

  constructor(start = new Date('2026-01-15T12:00:00Z')) {
    this.#now = start.getTime()
  }

  now(): Date {
    return new Date(this.#now)
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const waiting = { at: this.#now + Math.max(0, ms), callback }
    this.#waiting.add(waiting)
    return { cancel: () => this.#waiting.delete(waiting) }
  }

  advance(ms: number): void {
    const end = this.#now + ms
    for (let next = this.#nextBy(end); next; next = this.#nextBy(end)) {
      this.#waiting.delete(next)
      this.#now = next.at
      next.callback()
    }
    this.#now = end
  }

  /** Timers of the same time run in the order of their creation. */
  #nextBy(end: number): Waiting | null {
    let next: Waiting | null = null
    for (const waiting of this.#waiting) if (waiting.at <= end && (!next || waiting.at < next.at)) next = waiting
    return next
  }
}
