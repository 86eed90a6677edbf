import { randomBytes } from 'node:crypto'
import { truncateLine } from '../process/lines.ts'
import type { LogAdmission, LogBatch, LogCursor, LogDrop, LogLine } from '../driver.ts'

/** Number of lines kept for `tail` after they were read. */
const KEPT_LINES = 1000
/** Maximum number of unread lines; the oldest are dropped. */
const MAX_LINES = 100_000

/** One container's log. Cursors count lines. */
export class SimLog {
  /** Random, so that logs of different simulations have different ids. */
  readonly id = randomBytes(6).toString('hex')
  readonly workload: string
  readonly container: string
  isEnded = false
  #lines: { text: string; at: Date }[] = []
  /** Number of the first line in memory. */
  #first = 0
  /** Number of the first line that was not read. */
  #unread = 0
  /** The beginning of an incomplete line. */
  #incomplete = ''

  constructor(workload: string, container: string) {
    this.workload = workload
    this.container = container
  }

  /** Appends `text` and the end of the line. */
  write(text: string, at: Date): void {
    this.#lines.push({ text: truncateLine(this.#incomplete + text), at })
    this.#incomplete = ''
    if (this.#lines.length > MAX_LINES + KEPT_LINES) this.#evict(this.#first + KEPT_LINES)
  }

  /** Appends to the incomplete line. */
  writePart(text: string): void {
    this.#incomplete += text
  }

  /** Completes the last line after the program has ended. */
  terminateLastLine(at: Date): void {
    if (this.#incomplete) this.write('', at)
  }

  /** The number that the next line gets. */
  get end(): number {
    return this.#first + this.#lines.length
  }

  /**
   * Returns at most `count` lines from number `position`, and the number of the line after them. A line of the log reports how many
   * lines before them were dropped unread.
   */
  after(position: number, count: number): { lines: LogLine[]; next: number } {
    const { workload, container } = this
    const start = Math.max(0, position - this.#first)
    const page = this.#lines.slice(start, start + count)
    const dropped = this.#first - Math.max(position, this.#unread)
    const at = page[0]?.at
    const lines = [...(dropped > 0 && at ? [{ text: droppedText(dropped), at }] : []), ...page]
    return {
      lines: lines.map(({ text, at }): LogLine => ({ workload, container, stream: 'stdout', text, readAt: at })),
      next: this.#first + start + page.length,
    }
  }

  /** Returns the last `count` lines, including an incomplete one. */
  tail(count: number): string[] {
    return [...this.#lines.map(({ text }) => text), ...(this.#incomplete ? [this.#incomplete] : [])].slice(-count)
  }

  /** Evicts the lines before number `upTo`, which were read, except the last `KEPT_LINES` of them. */
  acknowledge(upTo: number): void {
    this.#unread = Math.max(this.#unread, upTo)
    this.#evict(upTo - KEPT_LINES)
  }

  #evict(upTo: number): void {
    const count = upTo - this.#first
    if (count <= 0) return
    this.#lines = this.#lines.slice(count)
    this.#first = upTo
  }
}

const droppedText = (lines: number) =>
  `${lines} ${lines === 1 ? 'line' : 'lines'} of log were dropped here: the program writes faster than its log can be read`

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
  async *read(from: LogCursor, signal: AbortSignal, admits: LogAdmission = () => true): AsyncGenerator<LogBatch> {
    const positions = new Map(Object.entries(from).map(([id, position]) => [id, Number(position)]))
    const backlogEnds = new Map([...this.#logs.values()].map(({ id, end }) => [id, end]))
    signal.addEventListener('abort', () => this.wake(), { once: true })
    while (!signal.aborted) {
      const batch = this.#nextBatch(positions, backlogEnds, admits) ?? this.#removeCompleted(positions)
      if (batch) {
        yield batch
        for (const [id, position] of Object.entries(batch.cursor)) this.#logs.get(id)?.acknowledge(Number(position))
      } else {
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
      }
    }
  }

  #nextBatch(positions: Map<string, number>, backlogEnds: Map<string, number>, admits: LogAdmission): LogBatch | null {
    const lines: LogLine[] = []
    const dropped: LogDrop[] = []
    const cursor: LogCursor = {}
    for (const log of this.#logs.values()) {
      const position = positions.get(log.id) ?? 0
      if (log.end <= position || lines.length >= BATCH_LINES) continue
      const { workload, container } = log
      const isBacklog = position < (backlogEnds.get(log.id) ?? 0)
      const page = log.after(position, BATCH_LINES)
      const admitted = page.lines.filter(({ text }) => admits({ workload, bytes: Buffer.byteLength(text), isBacklog }))
      lines.push(...admitted)
      const droppedLines = page.lines.length - admitted.length
      if (droppedLines > 0) dropped.push({ workload, container, lines: droppedLines, isEstimate: false })
      positions.set(log.id, page.next)
      cursor[log.id] = String(page.next)
    }
    return Object.keys(cursor).length > 0 ? { lines, dropped, cursor } : null
  }

  #removeCompleted(positions: Map<string, number>): LogBatch | null {
    const cursor: LogCursor = {}
    for (const log of this.#logs.values()) {
      if (!log.isEnded || (positions.get(log.id) ?? 0) < log.end) continue
      this.#logs.delete(log.id)
      positions.delete(log.id)
      cursor[log.id] = ''
    }
    return Object.keys(cursor).length > 0 ? { lines: [], dropped: [], cursor } : null
  }
}
