import { dayOf, days, minutes } from '../../../clock.ts'

/** Maximum time between two rounds. The state during a longer gap is unknown, so the gap is not counted. */
export const maxGapMs = minutes(2)

/** Splits a time span at midnight UTC. Returns the milliseconds in each day; nothing if the span is empty or longer than `maxGapMs`. */
export function splitDays(fromMs: number, toMs: number): { day: string; ms: number }[] {
  if (toMs <= fromMs || toMs - fromMs > maxGapMs) return []
  const parts: { day: string; ms: number }[] = []
  for (let startMs = fromMs; startMs < toMs;) {
    const day = dayOf(startMs)
    const endMs = Math.min(toMs, Date.parse(day) + days(1))
    parts.push({ day, ms: endMs - startMs })
    startMs = endMs
  }
  return parts
}
