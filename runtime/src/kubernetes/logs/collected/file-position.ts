import { parsePosition } from '../log-position.ts'
import type { FileLine, Stream } from './log-file.ts'

/**
 * A contiguous part of a run's log file that was read. `end`: the offset after its last line; -1 if it was read through the API
 * server. Each stream has the times of its first and last line. Within a stream, times do not decrease, and no two files contain the
 * same time.
 */
export type ReadPart = {
  end: number
  /** The offset of its first line; missing if the lines before it are known, and in positions of earlier releases. */
  start?: number
  /** True if its first line was read long after it was written. */
  isLate?: boolean
  /** True if the version's log has reported that lines before this part are missing. */
  isReported?: boolean
} & Partial<Record<Stream, [first: string, last: string]>>

/**
 * The parts of a run's log that were read, and for each stream the beginning of a line whose rest has not arrived yet. `known`: the
 * offset after the last line that was skipped because it had been read through the API server.
 */
type Stored = { parts: ReadPart[]; partial: Partial<Record<Stream, string>>; known?: number }

/** Each rotation begins another file. Older parts are merged, since their lines are no longer sent out of order. */
const MAX_PARTS = 16
/** Longer lines are cut when they are delivered. */
const MAX_PARTIAL_CHARS = 65 * 1024
/** A collector that keeps up reads a line within a second; kubelet does not rotate a file in its first seconds. */
const LATE_MS = 5000

/**
 * Decides which lines of a run's log are new. The collector sends each line at least once, possibly again after later lines, and after a
 * rotation offsets begin at 0 again in a file with the same name.
 */
export class FilePosition {
  readonly #parts: ReadPart[]
  readonly #partial: Stored['partial']
  #known: number | undefined

  /** Continues from a position that `format` returned. Missing text, or text in another format, is the start of the log. */
  constructor(text: string | undefined) {
    const { parts = [], partial = {}, known } = parseStored(text)
    this.#parts = parts
    this.#partial = partial
    this.#known = known
  }

  /** Returns the position of a run that was read through the API server (see `LogPosition`) before a collector was installed. */
  static afterFollowing(text: string, restarts: number): FilePosition {
    const followed = parsePosition(text)
    if (restarts > followed.restarts) return new FilePosition(undefined)
    const last = restarts === followed.restarts ? followed.time : '~'
    return new FilePosition(
      JSON.stringify({ parts: [{ end: -1, stdout: ['', last], stderr: ['', last] }], partial: {} }),
    )
  }

  /**
   * Adds a line that begins at `offset` of its file and has `bytes` bytes including its line break. Returns the program's line that it
   * completes; null if it was read before, or if the program's line continues. `readAtMs`: when the collector read it, if that is known.
   */
  push(line: FileLine, offset: number, bytes: number, readAtMs: number | null = null): string | null {
    if (!this.#add(line, offset, bytes, readAtMs)) return null
    const text = `${this.#partial[line.stream] ?? ''}${line.text}`
    if (line.isPartial) this.#partial[line.stream] = text.slice(0, MAX_PARTIAL_CHARS)
    else delete this.#partial[line.stream]
    return line.isPartial ? null : text
  }

  /** Skips text at `offset` that is not a line of a program. */
  skip(offset: number, bytes: number): void {
    const part = this.#parts.find(({ end }) => end === offset)
    if (part) part.end = offset + bytes
  }

  /** The time of the last line; empty before the first. */
  get lastTime(): string {
    return this.#parts.flatMap(({ stdout, stderr }) => [stdout?.[1] ?? '', stderr?.[1] ?? '']).reduce(later, '')
  }

  get parts(): readonly ReadPart[] {
    return this.#parts
  }

  format(): string {
    const stored: Stored = { parts: this.#parts, partial: this.#partial }
    return JSON.stringify(this.#known === undefined ? stored : { ...stored, known: this.#known })
  }

  /** Returns whether the line is new. */
  #add({ stream, time }: FileLine, offset: number, bytes: number, readAtMs: number | null): boolean {
    const containing = this.#parts.filter((part) => contains(part[stream], time))
    const before = this.#parts.find((part) => part.end === offset && containing.every((other) => other === part))
    if (!before && containing.length > 0) {
      if (containing.some(({ end }) => end < 0)) this.#known = offset + bytes
      return false
    }
    // If no part ends here, the line is the first of its file, or the lines before it have not arrived.
    const part = before ?? this.#addPart(offset, readAtMs !== null && readAtMs - Date.parse(time) >= LATE_MS)
    const [first, last] = part[stream] ?? [time, time]
    part[stream] = [first < time ? first : time, later(last, time)]
    part.end = offset + bytes
    return true
  }

  #addPart(start: number, isLate: boolean): ReadPart {
    const part: ReadPart = { end: 0, ...(start === this.#known ? {} : { start }), ...(isLate ? { isLate } : {}) }
    this.#known = undefined
    this.#parts.push(part)
    const [oldest, next] = this.#parts
    if (this.#parts.length > MAX_PARTS && oldest && next) this.#parts.splice(0, 2, merge(oldest, next))
    return part
  }
}

const later = (first: string, second: string): string => (first > second ? first : second)

const contains = (times: [string, string] | undefined, time: string): boolean =>
  times !== undefined && times[0] <= time && time <= times[1]

function merge(first: ReadPart, second: ReadPart): ReadPart {
  const result: ReadPart = { end: second.end }
  if (first.start !== undefined) result.start = first.start
  if (first.isReported) result.isReported = true
  for (const stream of ['stdout', 'stderr'] as const) {
    const times = [...(first[stream] ?? []), ...(second[stream] ?? [])].toSorted()
    if (times.length > 0) result[stream] = [times[0] ?? '', times.at(-1) ?? '']
  }
  return result
}

function parseStored(text: string | undefined): Partial<Stored> {
  try {
    const stored = JSON.parse(text ?? '') as Partial<Stored> | null
    return Array.isArray(stored?.parts) ? stored : {}
  } catch {
    return {}
  }
}
