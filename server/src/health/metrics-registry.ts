import { Registry } from 'prom-client'
import type { App } from '../app.ts'
import { oncePerProcess } from '../collections/once-per.ts'

/** Returns the registry of this process's metrics for the operator's Prometheus. Each part of the server registers its own metrics. */
export const metricsRegistry: (app: Pick<App, 'config'>) => Registry = oncePerProcess(() => new Registry())
