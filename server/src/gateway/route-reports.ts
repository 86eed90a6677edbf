import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { beatGateway, deleteGateway, saveGatewayRoutes } from '../modules/deployments/index.ts'

export type ReportIntervals = {
  beatMs: number
  /** Without a heartbeat for so long the gateway is not ready: soon an update will not wait for it any more. */
  staleMs: number
}

export const defaultReportIntervals: ReportIntervals = { beatMs: 5_000, staleMs: 10_000 }

/** Before what could not be written is written again. */
const retryMs = 1_000

/**
 * Tells the deploy engine which generation of each version this gateway leads to, so that an update ends the old one only when
 * every gateway leads to the new one. Only what changed is written: an update costs a row.
 */
export class RouteReports {
  readonly id = randomUUID()
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #pace: ReportIntervals
  /** What this gateway leads to. */
  readonly #led = new Map<number, number>()
  /** What of it is not written yet; null: nothing any more. */
  #pending = new Map<number, number | null>()
  #writing: Promise<void> | null = null
  #beatAtMs = -Infinity
  #isClosed = false
  readonly #timer: NodeJS.Timeout

  constructor(app: Pick<App, 'db' | 'log'>, pace: ReportIntervals = defaultReportIntervals) {
    this.#app = app
    this.#pace = pace
    this.#timer = setInterval(() => void this.beat(), pace.beatMs).unref()
  }

  /** From now on requests are led to this generation; null when the version is gone. */
  note(squidId: number, generation: number | null): void {
    if ((this.#led.get(squidId) ?? null) === generation) return
    if (generation === null) this.#led.delete(squidId)
    else this.#led.set(squidId, generation)
    this.#pending.set(squidId, generation)
    void this.#write()
  }

  /** Why this gateway should not be sent requests; null when it should. */
  problem(): string | null {
    const isStale = performance.now() - this.#beatAtMs > this.#pace.staleMs
    return isStale ? 'cannot write its heartbeat' : null
  }

  /** Never rejects: `problem` tells. */
  async beat(): Promise<void> {
    const startedMs = performance.now()
    try {
      const isNew = await beatGateway(this.#app.db, this.id)
      this.#beatAtMs = startedMs
      if (isNew) this.#pending = new Map(this.#led)
      await this.#write()
    } catch (error) {
      if (!this.#isClosed) this.#app.log.warn({ err: error }, 'the gateway cannot write its heartbeat')
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#writing
    await deleteGateway(this.#app.db, this.id).catch(() => undefined)
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = null))
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    // Changes of the same moment, as when all routes are read, are one statement.
    await Promise.resolve()
    while (this.#pending.size > 0 && !this.#isClosed && this.#beatAtMs > -Infinity) {
      const routes = this.#pending
      this.#pending = new Map()
      try {
        await saveGatewayRoutes(this.#app.db, this.id, routes)
      } catch (error) {
        this.#pending = new Map([...routes, ...this.#pending])
        this.#app.log.warn({ err: error }, 'the gateway cannot write where it leads requests')
        await new Promise((done) => void setTimeout(done, retryMs).unref())
      }
    }
  }
}
