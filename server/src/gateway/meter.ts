import type { App } from '../app.ts'
import { addIngressMinutes, bucketCount, bucketOf, type IngressMinute } from '../modules/metrics/index.ts'

const flushMs = 1_000
/** While the database is away no more than this many minutes and versions are kept. */
const maxPending = 100_000

/** Counts requests, bytes and latencies of every version, and adds them to the database each second. */
export class IngressMeter {
  readonly #app: Pick<App, 'database' | 'clock' | 'log'>
  #pending = new Map<string, IngressMinute>()
  #minute = new Date(0)
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout

  constructor(app: Pick<App, 'database' | 'clock' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
    this.#setMinute()
  }

  /** One answered request: statuses below 400 are successes (spec 2.9: Valid and Invalid). */
  count(squidId: number, status: number, bytes: number, elapsedMs: number): void {
    const row = this.#row(squidId)
    if (status >= 400) {
      row.errors++
      row.errorBytes += bytes
      return
    }
    row.successes++
    row.successBytes += bytes
    const bucket = bucketOf(elapsedMs)
    row.histogram[bucket] = (row.histogram[bucket] ?? 0) + 1
  }

  #row(squidId: number): IngressMinute {
    const key = `${squidId} ${this.#minute.getTime()}`
    const known = this.#pending.get(key)
    if (known) return known
    const histogram = Array.from({ length: bucketCount }, () => 0)
    const row = { squidId, minute: this.#minute, successes: 0, errors: 0, successBytes: 0, errorBytes: 0, histogram }
    if (this.#pending.size < maxPending) this.#pending.set(key, row)
    return row
  }

  #setMinute(): void {
    this.#minute = new Date(Math.floor(this.#app.clock.now().getTime() / 60_000) * 60_000)
  }

  /** Writes what was counted; what cannot be written now is kept for the next time. */
  flush(): Promise<void> {
    this.#setMinute()
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const rows = this.#pending
    if (rows.size === 0) return
    this.#pending = new Map()
    try {
      await addIngressMinutes(this.#app.database, [...rows.values()])
    } catch (error) {
      this.#app.log.warn({ err: error }, 'the gateway cannot write its counts')
      for (const row of rows.values()) this.#putBack(row)
    }
  }

  #putBack(row: IngressMinute): void {
    const key = `${row.squidId} ${row.minute.getTime()}`
    const newer = this.#pending.get(key)
    if (!newer) return void this.#pending.set(key, row)
    newer.successes += row.successes
    newer.errors += row.errors
    newer.successBytes += row.successBytes
    newer.errorBytes += row.errorBytes
    newer.histogram = newer.histogram.map((n, i) => n + (row.histogram[i] ?? 0))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}
