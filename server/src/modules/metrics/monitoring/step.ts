import { days, hours, minutes } from '../../../clock.ts'
import type { RetentionCheck, Level } from '../levels.ts'
import type { Range } from '../range.ts'

/** The bucket size of a chart and the level it is read from; always a multiple of that level's bucket. */
export type BucketSize = { ms: number; level: Exclude<Level, 'months'> }

/** At least two samples, because their times are not exact. */
const finest: BucketSize = { ms: 30_000, level: 'samples' }

const steps: BucketSize[] = [
  finest,
  ...[1, 2, 5, 10, 15, 30].map((n): BucketSize => ({ ms: minutes(n), level: 'minutes' })),
  ...[1, 2, 3, 6, 12].map((n): BucketSize => ({ ms: hours(n), level: 'hours' })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n): BucketSize => ({ ms: days(n), level: 'days' })),
]

/** The finest step whose level still has the whole range, with at most `maxPoints` points. */
export function stepOf(range: Range, points: number, isKept: RetentionCheck): BucketSize {
  const fits = ({ ms, level }: BucketSize) => countOf(range, ms) <= points && isKept(level, range.fromMs)
  return steps.find(fits) ?? { ms: days(365), level: 'days' }
}

const firstOf = ({ fromMs }: Range, stepMs: number) => Math.floor(fromMs / stepMs) * stepMs
const countOf = (range: Range, stepMs: number) => Math.max(0, Math.ceil((range.toMs - firstOf(range, stepMs)) / stepMs))

/** Starts of all buckets that overlap the range, in UTC. */
export const timesOf = (range: Range, stepMs: number): number[] =>
  Array.from({ length: countOf(range, stepMs) }, (_, i) => firstOf(range, stepMs) + i * stepMs)
