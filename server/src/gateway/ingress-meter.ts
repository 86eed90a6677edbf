import { Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { addIngressMinutes, bucketCount, bucketOf, type IngressMinute } from '../modules/metrics/index.ts'
import { CounterBuffer } from './counter-buffer.ts'
import { oncePerProcess } from '../collections/once-per.ts'
import { metricsRegistry } from '../health/metrics-registry.ts'

const minuteMs = 60_000

/** A response to count, or an error of the gateway. */
export type ServedRequest = {
  squidId: number
  status: number
  bytes: number
  elapsedMs: number
  /**
   * Whether the squid or the gateway failed to serve the request. False if the owner hibernated the squid, or the
   * caller disconnected.
   */
  isFailure: boolean
}

/** Counts requests, bytes and latencies of every version by minute. */
export class IngressMeter {
  readonly #app: Pick<App, 'config' | 'clock' | 'database' | 'log'>
  readonly #buffer: CounterBuffer<IngressMinute>
  readonly #seconds: ReturnType<typeof requestSeconds>

  constructor(app: Pick<App, 'config' | 'clock' | 'database' | 'log'>) {
    this.#app = app
    this.#seconds = requestSeconds(app)
    this.#buffer = new CounterBuffer<IngressMinute>({
      app,
      name: 'request counts',
      write: (rows) => addIngressMinutes(app.database, rows),
      add: (into, from) => {
        into.successes += from.successes
        into.errors += from.errors
        into.failures += from.failures
        into.successBytes += from.successBytes
        into.errorBytes += from.errorBytes
        into.histogram = into.histogram.map((n, i) => n + (from.histogram[i] ?? 0))
      },
      failureMessage: 'failed to write ingress counts; trying again',
    })
  }

  /** Counts one response. Statuses below 400 are successes (spec 2.9: Valid and Invalid). */
  count({ squidId, status, bytes, elapsedMs, isFailure }: ServedRequest): void {
    this.#seconds.observe({ status: statusClass(status) }, elapsedMs / 1000)
    const startMs = Math.floor(this.#app.clock.now().getTime() / minuteMs) * minuteMs
    const row = this.#buffer.row(`${squidId} ${startMs}`, () => ({
      squidId,
      minute: new Date(startMs),
      successes: 0,
      errors: 0,
      failures: 0,
      successBytes: 0,
      errorBytes: 0,
      histogram: Array.from({ length: bucketCount }, () => 0),
    }))
    if (!row) return
    if (status >= 400) {
      row.errors += 1
      if (isFailure) row.failures += 1
      row.errorBytes += bytes
      return
    }
    row.successes += 1
    row.successBytes += bytes
    const bucket = bucketOf(elapsedMs)
    row.histogram[bucket] = (row.histogram[bucket] ?? 0) + 1
  }

  close(): Promise<void> {
    return this.#buffer.close()
  }
}

/** Returns the metric of the requests to squids through this process, in seconds by class of status (`2xx`). It does not name tenants. */
const requestSeconds = oncePerProcess(
  (app: Pick<App, 'config'>) =>
    new Histogram({
      name: 'shoal_squid_request_seconds',
      help: 'Time from a request to a squid until the end of its response at the gateway.',
      labelNames: ['status'],
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [metricsRegistry(app)],
    }),
)

/** The class of a status, as in `2xx`. */
const statusClass = (status: number): string => `${Math.floor(status / 100)}xx`
