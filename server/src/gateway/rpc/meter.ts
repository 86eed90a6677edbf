import type { Logger } from 'pino'
import type { App } from '../../app.ts'
import { addUsage, type UsageRow } from '../../modules/rpc/index.ts'

const flushMs = 1_000
/** Callers name their version and the method themselves; past this many in an hour they are not told apart. */
const namesAnHour = 300
const otherName = 'other'

type Totals = Awaited<ReturnType<typeof addUsage>>
type RequestKey = { orgId: number; chain: string; method: string; version: string }

/** Counts what was asked, and writes it every second by adding: a process that is killed loses the last second, no more. */
export class Meter {
  readonly #app: Pick<App, 'db' | 'clock'>
  readonly #log: Logger
  readonly #onWritten: (totals: Totals, own: ReadonlyMap<number, number>) => void
  #rows = new Map<string, UsageRow>()
  readonly #pending = new Map<number, number>()
  readonly #names = new Map<string, Set<string>>()
  #hourMs = 0
  #writing: Promise<void> | null = null
  readonly #timer: NodeJS.Timeout

  /** `onWritten` is told what the database now knows of organizations, and how much of it was just counted here. */
  constructor(app: App, onWritten: (totals: Totals, own: ReadonlyMap<number, number>) => void) {
    this.#app = app
    this.#log = app.log
    this.#onWritten = onWritten
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  /** `wasAnswered`: by a node or the cache, an error of the node included. */
  count({ orgId, chain, method, version }: RequestKey, wasAnswered: boolean): void {
    const hourMs = Math.floor(this.#app.clock.now().getTime() / 3_600_000) * 3_600_000
    if (hourMs !== this.#hourMs) {
      this.#hourMs = hourMs
      this.#names.clear()
    }
    const names = { version: this.#known(`version ${orgId}`, version), method: this.#known(`method ${orgId}`, method) }
    const key = `${orgId} ${chain} ${names.method} ${names.version} ${hourMs}`
    let row = this.#rows.get(key)
    if (!row) {
      row = { orgId, chain, ...names, hour: new Date(hourMs), requests: 0, failures: 0 }
      this.#rows.set(key, row)
    }
    if (!wasAnswered) row.failures += 1
    else {
      row.requests += 1
      this.#pending.set(orgId, this.pendingOf(orgId) + 1)
    }
  }

  /** Requests that were counted and are not in the database yet. */
  pendingOf(orgId: number): number {
    return this.#pending.get(orgId) ?? 0
  }

  /** Writes what was counted. What cannot be written now is kept for the next time. */
  async flush(): Promise<void> {
    await this.#writing
    if (this.#rows.size === 0) return
    this.#writing = this.#write().finally(() => (this.#writing = null))
    await this.#writing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    const rows = this.#rows
    this.#rows = new Map()
    try {
      const totals = await addUsage(this.#app.db, [...rows.values()])
      const own = new Map<number, number>()
      for (const { orgId, requests } of rows.values()) own.set(orgId, (own.get(orgId) ?? 0) + requests)
      this.#onWritten(totals, own)
      for (const { orgId, requests } of rows.values()) {
        const left = this.pendingOf(orgId) - requests
        if (left > 0) this.#pending.set(orgId, left)
        else this.#pending.delete(orgId)
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'RPC requests could not be counted; trying again')
      for (const [key, row] of rows) {
        const since = this.#rows.get(key)
        this.#rows.set(
          key,
          since ? { ...row, requests: row.requests + since.requests, failures: row.failures + since.failures } : row,
        )
      }
    }
  }

  #known(of: string, name: string): string {
    let names = this.#names.get(of)
    if (!names) this.#names.set(of, (names = new Set()))
    if (names.has(name)) return name
    if (names.size >= namesAnHour) return otherName
    names.add(name)
    return name
  }
}
