import { randomBytes } from 'node:crypto'
import { cutLine } from '../process/lines.ts'
import type { LogBatch, LogCursor, LogLine } from '../driver.ts'

/** Number of read lines kept for `tail`. */
const KEPT_LINES = 1000
/** Maximum number of unread lines; the oldest are dropped. */
const MAX_LINES = 100_000

/** One container's log. Cursors count lines. */
export class SimLog {
  /** Random, so that logs of different simulations are not confused. */
  readonly id = randomBytes(6).toString('hex')
  readonly workload: string
  readonly container: string
  isEnded = false
  #lines: { text: string; at: Date }[] = []
  /** Number of the first kept line. */
  #first = 0
  /** An incomplete line. */
  #last = ''

  constructor(workload: string, container: string) {
    this.workload = workload
    this.container = container
  }

  write(text: string, at: Date): void {
    this.#lines.push({ text: cutLine(this.#last + text), at })
    this.#last = ''
    if (this.#lines.length > MAX_LINES + KEPT_LINES) this.#evict(this.#first + KEPT_LINES)
  }

  writePart(text: string): void {
    this.#last += text
  }

  /** Terminates an incomplete line after the end of the program. */
  seal(at: Date): void {
    if (this.#last) this.write('', at)
  }

  get end(): number {
    return this.#first + this.#lines.length
  }

  /** Lines from number `position` on, at most `count`, and the number of the one after them. */
  after(position: number, count: number): { lines: LogLine[]; next: number } {
    const { workload, container } = this
    const start = Math.max(0, position - this.#first)
    const kept = this.#lines.slice(start, start + count)
    const lines = kept.map(({ text, at }): LogLine => ({ workload, container, stream: 'stdout', text, readAt: at }))
    return { lines, next: this.#first + start + kept.length }
  }

  tail(count: number): string[] {
    return [...this.#lines.map(({ text }) => text), ...(this.#last ? [this.#last] : [])].slice(-count)
  }

  acknowledge(upTo: number): void {
    this.#evict(upTo - KEPT_LINES)
  }

  #evict(upTo: number): void {
    const count = upTo - this.#first
    if (count <= 0) return
    this.#lines = this.#lines.slice(count)
    this.#first = upTo
  }
}

const BATCH_LINES = 5000

/** All logs of a simulated host. Readers are notified of lines instead of polling. */
export class SimLogs {
  readonly #logs = new Map<string, SimLog>()
  #waiting: (() => void)[] = []

  open(workload: string, container: string): SimLog {
    const log = new SimLog(workload, container)
    this.#logs.set(log.id, log)
    return log
  }

  /** Notifies readers of new lines. */
  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** See `Runtime.logs`. */
  async *read(from: LogCursor, signal: AbortSignal): AsyncGenerator<LogBatch> {
    const positions = new Map(Object.entries(from).map(([id, position]) => [id, Number(position)]))
    signal.addEventListener('abort', () => this.wake(), { once: true })
    while (!signal.aborted) {
      const batch = this.#nextBatch(positions) ?? this.#forgetRead(positions)
      if (batch) {
        yield batch
        for (const [id, position] of Object.entries(batch.cursor)) this.#logs.get(id)?.acknowledge(Number(position))
      } else {
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
      }
    }
  }

  #nextBatch(positions: Map<string, number>): LogBatch | null {
    const lines: LogLine[] = []
    const cursor: LogCursor = {}
    for (const log of this.#logs.values()) {
      const position = positions.get(log.id) ?? 0
      if (log.end <= position || lines.length >= BATCH_LINES) continue
      const more = log.after(position, BATCH_LINES)
      lines.push(...more.lines)
      positions.set(log.id, more.next)
      cursor[log.id] = String(more.next)
    }
    return lines.length > 0 ? { lines, cursor } : null
  }

  #forgetRead(positions: Map<string, number>): LogBatch | null {
    const cursor: LogCursor = {}
    for (const log of this.#logs.values()) {
      if (!log.isEnded || (positions.get(log.id) ?? 0) < log.end) continue
      this.#logs.delete(log.id)
      positions.delete(log.id)
      cursor[log.id] = ''
    }
    return Object.keys(cursor).length > 0 ? { lines: [], cursor } : null
  }
}
