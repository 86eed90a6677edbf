import { Registry } from 'prom-client'
import type { App } from '../app.ts'

const ofApps = new WeakMap<App, Registry>()

/** What this process tells its operator's Prometheus about itself. Each part of the server adds its own metrics. */
export function ownMetrics(app: App): Registry {
  const registry = ofApps.get(app) ?? new Registry()
  ofApps.set(app, registry)
  return registry
}
