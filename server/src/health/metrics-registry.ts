import { Registry } from 'prom-client'
import type { App } from '../app.ts'

const ofApps = new WeakMap<App, Registry>()

/** The registry of this process's metrics for the operator's Prometheus. Each part of the server registers its own metrics. */
export function metricsRegistry(app: App): Registry {
  const registry = ofApps.get(app) ?? new Registry()
  ofApps.set(app, registry)
  return registry
}
