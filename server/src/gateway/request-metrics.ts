import { Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { oncePerProcess } from '../collections/once-per.ts'
import { metricsRegistry } from '../health/metrics-registry.ts'

/** Returns the metric of the requests to squids through this process, in seconds by class of status (`2xx`). It does not name tenants. */
export const requestSeconds = oncePerProcess(
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
export const statusClass = (status: number): string => `${Math.floor(status / 100)}xx`
