/**
 * How far the log of a pod was read: the number of restarts of the run, the time of the last line, and how many lines with exactly
 * this time were read.
 */
export type LogPosition = { restarts: number; time: string; lines: number }

export const START: LogPosition = { restarts: 0, time: '', lines: 0 }

/** Parses a position of a `LogCursor`. An invalid position is the start of the log. */
export function parsePosition(text: string | undefined): LogPosition {
  const [restarts = '', time = '', lines = ''] = (text ?? '').split(' ')
  return /^\d+$/.test(restarts) && /^\d+$/.test(lines)
    ? { restarts: Number(restarts), time, lines: Number(lines) }
    : START
}

export const formatPosition = ({ restarts, time, lines }: LogPosition): string => `${restarts} ${time} ${lines}`

/** A line of a log with its time, which can be compared as text. */
export type TimedLine = { time: string; text: string }

/**
 * Splits `2026-01-01T00:00:00.5Z text`, the format in which kubelet returns lines. Returns null for text without a time, which is not a
 * line of a program.
 */
export function parseTimedLine(line: string): TimedLine | null {
  const [, seconds, fraction = '', zone, text] =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?(.*)$/s.exec(line) ?? []
  if (seconds === undefined || text === undefined || zone === undefined) return null
  const utc = zone === 'Z' ? seconds : new Date(`${seconds}${zone}`).toISOString().slice(0, 19)
  return { time: `${utc}.${fraction.padEnd(9, '0')}Z`, text }
}

/** Skips the lines that were read before `from`, and tracks the position. Lines must be pushed in order, from `from.time` on. */
export class PositionCounter {
  #position: LogPosition
  /** The number of lines with the time of the starting position that are still to be skipped. */
  #toSkip: number
  readonly #start: string

  constructor(from: LogPosition) {
    this.#position = from
    this.#start = from.time
    this.#toSkip = from.lines
  }

  /** Returns the position after the line; null if it was read before. */
  push({ time }: TimedLine): LogPosition | null {
    if (time < this.#start) return null
    if (time === this.#start && this.#toSkip > 0) {
      this.#toSkip--
      return null
    }
    const { restarts, time: last, lines } = this.#position
    this.#position = { restarts, time, lines: time === last ? lines + 1 : 1 }
    return this.#position
  }
}
