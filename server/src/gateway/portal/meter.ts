import type { App } from '../../app.ts'
import { addPortalUsage, type PortalUsageRow } from '../../modules/portal/index.ts'

const flushMs = 1_000
const namesAnHour = 1_000

/** Counts requests and bytes by dataset, version and hour, and adds them to the database every second. */
export class PortalMeter {
  readonly #app: Pick<App, 'db' | 'clock' | 'log'>
  #rows = new Map<string, PortalUsageRow>()
  readonly #versions = new Set<string>()
  #hourMs = 0
  #writing: Promise<void> = Promise.resolve()
  readonly #timer: NodeJS.Timeout

  constructor(app: App) {
    this.#app = app
    this.#timer = setInterval(() => void this.flush(), flushMs).unref()
  }

  count(dataset: string, version: string, bytes: number): void {
    const hourMs = Math.floor(this.#app.clock.now().getTime() / 3_600_000) * 3_600_000
    if (hourMs !== this.#hourMs) this.#versions.clear()
    this.#hourMs = hourMs
    // Callers name themselves; past so many in an hour they are not told apart.
    if (this.#versions.size < namesAnHour) this.#versions.add(version)
    const known = this.#versions.has(version) ? version : 'other'
    const key = `${dataset} ${known} ${hourMs}`
    const row = this.#rows.get(key) ?? { dataset, version: known, hour: new Date(hourMs), requests: 0, bytes: 0 }
    row.requests += 1
    row.bytes += bytes
    this.#rows.set(key, row)
  }

  flush(): Promise<void> {
    return (this.#writing = this.#writing.then(() => this.#write()))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  async #write(): Promise<void> {
    if (this.#rows.size === 0) return
    const rows = this.#rows
    this.#rows = new Map()
    try {
      const ordered = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
      await addPortalUsage(this.#app.db, ordered)
    } catch (error) {
      this.#app.log.warn({ err: error }, 'Portal requests could not be counted; trying again')
      for (const [key, row] of rows) {
        const since = this.#rows.get(key)
        const sum = since && { requests: row.requests + since.requests, bytes: row.bytes + since.bytes }
        this.#rows.set(key, { ...row, ...sum })
      }
    }
  }
}
