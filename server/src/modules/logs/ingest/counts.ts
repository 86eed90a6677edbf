import { Counter } from 'prom-client'
import type { App } from '../../../app.ts'
import { oncePerProcess } from '../../../collections/once-per.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'
import type { WriteResult } from './writer.ts'

/** Counts stored and dropped lines in the metrics of this process, and logs which versions exceed their limits. */
export function recordWrite(app: App, { storedLines, dropped, dueReports }: WriteResult): void {
  const counters = countersOf(app)
  counters.stored.inc(storedLines)
  // Counts dropped lines now, not when the version's log reports them: once a daily quota is used up, the log reports them only once an hour.
  for (const { exceeded, lines } of dropped) counters.dropped.inc({ limit: exceeded }, lines)
  for (const { squidId, lines, exceeded } of dueReports)
    app.log.warn(
      { squidId, lines, exceeded },
      'log lines were dropped because the version or its organization exceeded a limit',
    )
}

const countersOf = oncePerProcess((app: Pick<App, 'config'>) => {
  const registers = [metricsRegistry(app)]
  return {
    stored: new Counter({
      name: 'shoal_log_lines_stored_total',
      help: 'Stored log lines of squids.',
      registers,
    }),
    dropped: new Counter({
      name: 'shoal_log_lines_dropped_total',
      help: 'Dropped log lines of squids, by the limit that their version or organization exceeded.',
      labelNames: ['limit'],
      registers,
    }),
  }
})
