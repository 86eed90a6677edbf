import type { App } from '../app.ts'
import { measured } from '../health/loops.ts'

/** Interval of writes to the database. */
const flushMs = 1_000
/** Bounds the memory while the database does not respond. */
const defaultMaxRows = 100_000

/** How a buffer writes its rows. */
export type CounterBufferOptions<Row> = {
  app: Pick<App, 'config' | 'clock' | 'log'>
  /** What the buffer counts; the name of its loop in metrics and in the operator's console. */
  name: string
  /** Adds the rows to the database. They are ordered by key, so that concurrent gateways lock rows in the same order. */
  write: (rows: Row[]) => Promise<void>
  /** Adds the counts of `from` to `into`. */
  add: (into: Row, from: Row) => void
  /** The log line for a failed write. */
  failureMessage: string
  /** Maximum number of rows in memory. Counts of further keys are dropped until a write succeeds. */
  maxRows?: number
}

/**
 * Counts in memory and adds the counts to the database each second. Counts that could not be written are added to the next write.
 * When a process is killed, the counts of its last second are lost.
 */
export class CounterBuffer<Row> {
  readonly #options: CounterBufferOptions<Row>
  readonly #maxRows: number
  readonly #timer: NodeJS.Timeout
  #rows = new Map<string, Row>()
  /** Rows in the database write that is in progress. They count towards the maximum, since they may be put back. */
  #inFlight = new Map<string, Row>()
  #writing: Promise<void> = Promise.resolve()
  readonly #runRound: () => Promise<void>

  constructor(options: CounterBufferOptions<Row>) {
    this.#options = options
    this.#maxRows = options.maxRows ?? defaultMaxRows
    this.#runRound = measured(options.app, options.name, flushMs, () => this.#write())
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  /** Returns the row to add counts to; null when the buffer is full. */
  row(key: string, create: () => Row): Row | null {
    const existing = this.#rows.get(key)
    if (existing) return existing
    // A key in flight does not count twice: if the write fails, its rows are merged.
    const isFull = this.#rows.size + this.#inFlight.size >= this.#maxRows
    if (isFull && !this.#inFlight.has(key)) return null
    const row = create()
    this.#rows.set(key, row)
    return row
  }

  /** Writes all counts. Never rejects. */
  flush(): Promise<void> {
    this.#writing = this.#writing
      .then(this.#runRound)
      .catch((error: unknown) => this.#options.app.log.warn({ err: error }, this.#options.failureMessage))
    return this.#writing
  }

  /** Stops the timer and flushes. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    if (this.#rows.size === 0) return
    this.#inFlight = this.#rows
    this.#rows = new Map()
    const ordered = [...this.#inFlight].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
    try {
      await this.#options.write(ordered)
    } catch (error) {
      this.#putBack()
      throw error
    } finally {
      this.#inFlight = new Map()
    }
  }

  #putBack(): void {
    const newer = this.#rows
    this.#rows = this.#inFlight
    for (const [key, row] of newer) {
      const older = this.#rows.get(key)
      if (older) this.#options.add(older, row)
      else this.#rows.set(key, row)
    }
  }
}
