import { Registry } from 'prom-client'
import type { App } from '../app.ts'

/** The key is the configuration, which all roles of a process share. The worker's `App` is a different object. */
const registries = new WeakMap<App['config'], Registry>()

/** Returns the registry of this process's metrics for the operator's Prometheus. Each part of the server registers its own metrics. */
export function metricsRegistry({ config }: Pick<App, 'config'>): Registry {
  const registry = registries.get(config) ?? new Registry()
  registries.set(config, registry)
  return registry
}
