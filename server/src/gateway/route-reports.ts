import { randomUUID } from 'node:crypto'
import type { App } from '../app.ts'
import { measured } from '../health/loops.ts'
import { recordGatewayHeartbeat, deleteGateway, saveGatewayRoutes } from '../modules/deployments/index.ts'

/** The interval of heartbeats, and their maximum age. */
export type ReportIntervals = {
  heartbeatMs: number
  /** A gateway without a heartbeat for this long is not ready, since updates will soon stop waiting for it. */
  staleMs: number
}

export const defaultReportIntervals: ReportIntervals = { heartbeatMs: 5_000, staleMs: 10_000 }

type ReportsApp = Pick<App, 'config' | 'clock' | 'db' | 'log'>

/** Delay before a failed write is retried. */
const retryMs = 1_000

/**
 * Reports to the deploy engine which generation of each version this gateway routes to, so that an update stops the old generation
 * only when every gateway routes to the new one. Writes only changes: an update costs one row.
 */
export class RouteReports {
  readonly id = randomUUID()
  readonly #app: ReportsApp
  readonly #runHeartbeat: () => Promise<void>
  readonly #intervals: ReportIntervals
  /** The generation of each version that this gateway routes to. */
  readonly #generations = new Map<number, number>()
  /** Changes that are not written yet; null when the version no longer exists. */
  #pending = new Map<number, number | null>()
  #writing: Promise<void> | null = null
  #beatAtMs = -Infinity
  #isClosed = false
  readonly #timer: NodeJS.Timeout

  constructor(app: ReportsApp, intervals: ReportIntervals = defaultReportIntervals) {
    this.#app = app
    this.#intervals = intervals
    this.#runHeartbeat = measured(app, 'gateway heartbeat', intervals.heartbeatMs, () => this.#recordHeartbeat())
    this.#timer = setInterval(() => void this.beat(), intervals.heartbeatMs).unref()
  }

  /** Records that requests are routed to this generation; null when the version no longer exists. */
  report(squidId: number, generation: number | null): void {
    if ((this.#generations.get(squidId) ?? null) === generation) return
    if (generation === null) this.#generations.delete(squidId)
    else this.#generations.set(squidId, generation)
    this.#pending.set(squidId, generation)
    void this.#write()
  }

  /** Returns why this gateway should not receive requests; null when it should. */
  problem(): string | null {
    const isStale = performance.now() - this.#beatAtMs > this.#intervals.staleMs
    return isStale ? 'cannot write its heartbeat' : null
  }

  /** Writes a heartbeat. Never rejects; `problem` reports failures. */
  async beat(): Promise<void> {
    await this.#runHeartbeat().catch((error: unknown) => {
      if (!this.#isClosed) this.#app.log.warn({ err: error }, 'failed to write the gateway heartbeat')
    })
  }

  async #recordHeartbeat(): Promise<void> {
    const startedMs = performance.now()
    const isNew = await recordGatewayHeartbeat(this.#app.db, this.id)
    this.#beatAtMs = startedMs
    if (isNew) this.#pending = new Map(this.#generations)
    await this.#write()
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
    // Batches simultaneous changes, as when all routes are read, into one statement.
    await Promise.resolve()
    while (this.#pending.size > 0 && !this.#isClosed && this.#beatAtMs > -Infinity) {
      const routes = this.#pending
      this.#pending = new Map()
      try {
        await saveGatewayRoutes(this.#app.db, this.id, routes)
      } catch (error) {
        this.#pending = new Map([...routes, ...this.#pending])
        this.#app.log.warn({ err: error }, 'failed to write gateway routes')
        await new Promise((done) => void setTimeout(done, retryMs).unref())
      }
    }
  }
}
