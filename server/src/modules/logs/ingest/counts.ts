import { Counter, type Registry } from 'prom-client'
import type { App } from '../../../app.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'
import type { WriteResult } from './writer.ts'

type Counters = { stored: Counter; dropped: Counter }
const countersByRegistry = new WeakMap<Registry, Counters>()

/** Counts stored and dropped lines in the metrics of this process, and logs which versions exceed their limits. */
export function recordWrite(app: App, { storedLines, dropped, reported }: WriteResult): void {
  const registry = metricsRegistry(app)
  const counters = countersByRegistry.get(registry) ?? createCounters(registry)
  countersByRegistry.set(registry, counters)
  counters.stored.inc(storedLines)
  // Counts dropped lines immediately, not when the log reports them: while a daily quota is used up, that is only once an hour.
  for (const { exceeded, lines } of dropped) counters.dropped.inc({ limit: exceeded }, lines)
  for (const { squidId, lines, exceeded } of reported)
    app.log.warn(
      { squidId, lines, exceeded },
      'log lines were dropped because the version or its organization exceeded a limit',
    )
}

function createCounters(registry: Registry): Counters {
  const registers = [registry]
  return {
    stored: new Counter({
      name: 'shoal_log_lines_stored_total',
      help: 'Stored lines of the logs of squids.',
      registers,
    }),
    dropped: new Counter({
      name: 'shoal_log_lines_dropped_total',
      help: 'Lines of the logs of squids that were dropped because their version or organization exceeded a limit, by that limit.',
      labelNames: ['limit'],
      registers,
    }),
  }
}
