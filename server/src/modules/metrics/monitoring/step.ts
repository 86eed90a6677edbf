import { days, hours, minutes } from '../../../clock.ts'
import type { IsKept, Level } from '../levels.ts'
import type { Range } from '../range.ts'

/** The length of a bucket of a chart, and the level it is read from. Always whole buckets of that level. */
export type Step = { ms: number; level: Exclude<Level, 'months'> }

/** Two samples at least, since they are not taken to the second. */
const finest: Step = { ms: 30_000, level: 'samples' }

const steps: Step[] = [
  finest,
  ...[1, 2, 5, 10, 15, 30].map((n): Step => ({ ms: minutes(n), level: 'minutes' })),
  ...[1, 2, 3, 6, 12].map((n): Step => ({ ms: hours(n), level: 'hours' })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n): Step => ({ ms: days(n), level: 'days' })),
]

/** The finest step whose level still holds the whole range, and that makes at most so many points of it. */
export function stepOf(range: Range, points: number, isKept: IsKept): Step {
  const fits = ({ ms, level }: Step) => countOf(range, ms) <= points && isKept(level, range.fromMs)
  return steps.find(fits) ?? { ms: days(365), level: 'days' }
}

const firstOf = ({ fromMs }: Range, stepMs: number) => Math.floor(fromMs / stepMs) * stepMs
const countOf = (range: Range, stepMs: number) => Math.max(0, Math.ceil((range.toMs - firstOf(range, stepMs)) / stepMs))

/** The beginnings of all buckets that touch the range, in UTC. */
export const timesOf = (range: Range, stepMs: number): number[] =>
  Array.from({ length: countOf(range, stepMs) }, (_, i) => firstOf(range, stepMs) + i * stepMs)
