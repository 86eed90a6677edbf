import { days, hours, minutes } from '../../../clock.ts'
import type { RetentionCheck, Level } from '../levels.ts'
import type { Range } from '../range.ts'

/** The length of a bucket of a chart, and the level it is read from. Always whole buckets of that level. */
export type BucketSize = { ms: number; level: Exclude<Level, 'months'> }

/** Two samples at least, since they are not taken to the second. */
const finest: BucketSize = { ms: 30_000, level: 'samples' }

const steps: BucketSize[] = [
  finest,
  ...[1, 2, 5, 10, 15, 30].map((n): BucketSize => ({ ms: minutes(n), level: 'minutes' })),
  ...[1, 2, 3, 6, 12].map((n): BucketSize => ({ ms: hours(n), level: 'hours' })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n): BucketSize => ({ ms: days(n), level: 'days' })),
]

/** The finest step whose level still holds the whole range, and that makes at most so many points of it. */
export function stepOf(range: Range, points: number, isKept: RetentionCheck): BucketSize {
  const fits = ({ ms, level }: BucketSize) => countOf(range, ms) <= points && isKept(level, range.fromMs)
  return steps.find(fits) ?? { ms: days(365), level: 'days' }
}

const firstOf = ({ fromMs }: Range, stepMs: number) => Math.floor(fromMs / stepMs) * stepMs
const countOf = (range: Range, stepMs: number) => Math.max(0, Math.ceil((range.toMs - firstOf(range, stepMs)) / stepMs))

/** The beginnings of all buckets that touch the range, in UTC. */
export const timesOf = (range: Range, stepMs: number): number[] =>
  Array.from({ length: countOf(range, stepMs) }, (_, i) => firstOf(range, stepMs) + i * stepMs)
