import { setTimeout as pause } from 'node:timers/promises'

/** A period during which a probe had the same result. */
type Period = { result: string; fromMs: number; untilMs: number; requests: number }

export type Timeline = {
  /** Marks the beginning of a fault. Only the first call counts. */
  markFault: () => void
  /** Returns the results of one probe since the mark, such as `200 → 503 at 0.4 s → 200 at 12.1 s`. */
  history: (probe: string) => string
  /** Returns the newest result of one probe. */
  latest: (probe: string) => string
  /** Returns how many requests of one probe since the mark did not have this result, and the longest time between two that had it. */
  gap: (probe: string, result: string) => { failures: number; maxMs: number }
  /** Returns the duration of one probe's slowest request since the mark, in milliseconds. */
  slowestMs: (probe: string) => number
  stop: () => Promise<void>
}

/** The time between a probe's response and its next request. */
const pauseMs = 100
/** The time after which a request counts as `no response`. */
const timeoutMs = 15_000

const failures: Record<string, string> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  ENOTFOUND: 'unknown host',
  EAI_AGAIN: 'unknown host',
  ETIMEDOUT: 'no connection',
  EHOSTUNREACH: 'no connection',
  ENETUNREACH: 'no connection',
  UND_ERR_CONNECT_TIMEOUT: 'no connection',
  UND_ERR_HEADERS_TIMEOUT: 'no response',
  UND_ERR_BODY_TIMEOUT: 'no response',
}

/** Returns how a request failed, in a few words. Errors of `fetch` have the error of the connection as their cause. */
export function failureOf(error: unknown): string {
  for (let found = error; found instanceof Error; found = found.cause) {
    if (found.name === 'TimeoutError') return 'no response'
    const code = 'code' in found ? String(found.code) : ''
    const failure = failures[code]
    if (failure !== undefined) return failure
    // The errors of all addresses of a name have the same code, or the first one decides.
    if (found instanceof AggregateError) return failureOf(found.errors[0])
    if (found.cause === undefined) return `failed: ${code || found.message}`
  }
  return `failed: ${String(error)}`
}

/** Runs every probe repeatedly and records when its result changes. */
export function startTimeline(probes: Record<string, (signal: AbortSignal) => Promise<string>>): Timeline {
  const startedMs = performance.now()
  const now = () => performance.now() - startedMs
  let isStopped = false
  let markedMs: number | null = null
  const periodsByProbe = new Map<string, Period[]>()
  const slowest = new Map<string, number>()

  const loop = async (name: string, probe: (signal: AbortSignal) => Promise<string>) => {
    const periods: Period[] = []
    periodsByProbe.set(name, periods)
    while (!isStopped) {
      const requestedMs = now()
      const result = await probe(AbortSignal.timeout(timeoutMs)).catch(failureOf)
      const elapsedMs = now() - requestedMs
      if (markedMs !== null && requestedMs >= markedMs) slowest.set(name, Math.max(slowest.get(name) ?? 0, elapsedMs))
      const last = periods.at(-1)
      if (last?.result === result) {
        last.untilMs = now()
        last.requests++
      } else periods.push({ result, fromMs: now(), untilMs: now(), requests: 1 })
      await pause(pauseMs)
    }
  }
  const running = Promise.all(Object.entries(probes).map(([name, probe]) => loop(name, probe)))
  const periodsSinceMark = (probe: string) =>
    (periodsByProbe.get(probe) ?? []).filter((period) => period.untilMs >= (markedMs ?? 0))
  return {
    markFault: () => {
      markedMs ??= now()
    },
    history: (probe) => {
      const [first, ...others] = periodsSinceMark(probe)
      const seconds = (period: Period) => ((period.fromMs - (markedMs ?? 0)) / 1000).toFixed(1)
      return [first?.result ?? 'nothing', ...others.map((period) => `${period.result} at ${seconds(period)} s`)].join(
        ' → ',
      )
    },
    latest: (probe) => periodsByProbe.get(probe)?.at(-1)?.result ?? 'nothing',
    gap: (probe, result) => {
      const periods = periodsSinceMark(probe)
      const good = periods.filter((period) => period.result === result)
      const failed = periods.filter((period) => period.result !== result)
      const gaps = good.slice(1).map((period, i) => period.fromMs - (good[i]?.untilMs ?? 0))
      return {
        failures: failed.reduce((sum, { requests }) => sum + requests, 0),
        maxMs: Math.max(0, ...gaps),
      }
    },
    slowestMs: (probe) => slowest.get(probe) ?? 0,
    stop: async () => {
      isStopped = true
      await running
    },
  }
}
