import { setTimeout as pause } from 'node:timers/promises'

/** One answer for as long as it was the same. */
type Span = { answer: string; fromMs: number; untilMs: number }

export type Timeline = {
  /** A fault begins: times are counted from the first call. */
  mark: () => void
  /** The answers of one probe since the first mark, such as `200 → 503 at 0.4 s → 200 at 12.1 s`. */
  told: (probe: string) => string
  /** Its newest answer. */
  latest: (probe: string) => string
  /** The longest time that one request of the probe took since the first mark. */
  slowestMs: (probe: string) => number
  stop: () => Promise<void>
}

const pauseMs = 100
const timeoutMs = 15_000

/** Asks every probe again and again, each at its own pace, and keeps when its answer changed. */
export function startTimeline(probes: Record<string, (signal: AbortSignal) => Promise<string>>): Timeline {
  const startedMs = performance.now()
  const now = () => performance.now() - startedMs
  let isStopped = false
  let markedMs: number | null = null
  const spans = new Map<string, Span[]>()
  const slowest = new Map<string, number>()

  const loop = async (name: string, ask: (signal: AbortSignal) => Promise<string>) => {
    const seen: Span[] = []
    spans.set(name, seen)
    while (!isStopped) {
      const askedMs = now()
      const answer = await ask(AbortSignal.timeout(timeoutMs)).catch((error: unknown) =>
        error instanceof Error && error.name === 'TimeoutError' ? 'no answer' : 'refused',
      )
      const elapsedMs = now() - askedMs
      if (markedMs !== null && askedMs >= markedMs) slowest.set(name, Math.max(slowest.get(name) ?? 0, elapsedMs))
      const last = seen.at(-1)
      if (last?.answer === answer) last.untilMs = now()
      else seen.push({ answer, fromMs: now(), untilMs: now() })
      await pause(pauseMs)
    }
  }
  const running = Promise.all(Object.entries(probes).map(([name, ask]) => loop(name, ask)))
  const since = (probe: string) => (spans.get(probe) ?? []).filter((span) => span.untilMs >= (markedMs ?? 0))
  return {
    mark: () => {
      markedMs ??= now()
    },
    told: (probe) => {
      const [first, ...others] = since(probe)
      const seconds = (span: Span) => ((span.fromMs - (markedMs ?? 0)) / 1000).toFixed(1)
      return [first?.answer ?? 'nothing', ...others.map((span) => `${span.answer} at ${seconds(span)} s`)].join(' → ')
    },
    latest: (probe) => spans.get(probe)?.at(-1)?.answer ?? 'nothing',
    slowestMs: (probe) => slowest.get(probe) ?? 0,
    stop: async () => {
      isStopped = true
      await running
    },
  }
}
