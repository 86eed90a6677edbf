import { dayOf, days, minutes } from '../../../clock.ts'

/** A longer time between two rounds is not counted, because the state in between is unknown. */
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
