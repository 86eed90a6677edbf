import { Counter, Gauge, Histogram } from 'prom-client'
import type { App } from '../app.ts'
import { oncePerProcess } from '../collections/once-per.ts'
import { safeText } from '../db/safe-error.ts'
import { metricsRegistry } from './metrics-registry.ts'

/** The rounds of one loop in this process. Times are ISO times. */
export type LoopReport = {
  name: string
  /** The time between rounds in milliseconds, without the round itself. */
  intervalMs: number
  /** The duration of the last round in milliseconds; null before it ended. */
  lastMs: number | null
  lastEndedAt: string | null
  /** Failed rounds since the last success. */
  failures: number
  /** The error of the last round; null if it succeeded. */
  error: string | null
}

type LoopApp = Pick<App, 'config' | 'clock'>
const maxErrorLength = 300

/** Returns the measurements of this process's loops, with their metrics registered. */
const loopsOf = oncePerProcess((app: LoopApp) => {
  const registers = [metricsRegistry(app)]
  return {
    reports: new Map<string, LoopReport>(),
    seconds: new Histogram({
      name: 'shoal_loop_seconds',
      help: 'Duration of the rounds of each periodic loop.',
      labelNames: ['loop'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60],
      registers,
    }),
    failures: new Counter({
      name: 'shoal_loop_failures_total',
      help: 'Failed rounds of each periodic loop.',
      labelNames: ['loop'],
      registers,
    }),
    lastEnd: new Gauge({
      name: 'shoal_loop_last_end_seconds',
      help: 'When the last round of each periodic loop ended, in seconds since 1970.',
      labelNames: ['loop'],
      registers,
    }),
  }
})

/** Registers the metrics of loops, so that they exist before the first round. */
export const registerLoopMetrics = (app: LoopApp): void => void loopsOf(app)

/** Returns a function that runs one round of a loop and measures the round. The function rejects as `work` does. */
export function measured(app: LoopApp, name: string, intervalMs: number, work: () => Promise<void>) {
  const { reports, seconds, failures, lastEnd } = loopsOf(app)
  const end = (startedMs: number, error: string | null) => {
    const lastMs = Math.round(performance.now() - startedMs)
    const endedAt = app.clock.now()
    const failedRounds = error === null ? 0 : (reports.get(name)?.failures ?? 0) + 1
    reports.set(name, { name, intervalMs, lastMs, lastEndedAt: endedAt.toISOString(), failures: failedRounds, error })
    seconds.observe({ loop: name }, lastMs / 1000)
    lastEnd.set({ loop: name }, endedAt.getTime() / 1000)
    if (error !== null) failures.inc({ loop: name })
  }
  return async (): Promise<void> => {
    const startedMs = performance.now()
    try {
      await work()
      end(startedMs, null)
    } catch (error) {
      end(startedMs, safeText(error).slice(0, maxErrorLength))
      throw error
    }
  }
}

/** Returns the loops that have completed a round in this process, in the order of their names. */
export const loopReports = (app: LoopApp): LoopReport[] =>
  [...loopsOf(app).reports.values()].sort((a, b) => a.name.localeCompare(b.name))
