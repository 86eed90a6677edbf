import { days, hours, minutes } from '../../../clock.ts'
import type { RetentionCheck, Level } from '../levels.ts'
import type { Range } from '../range.ts'

/** The bucket size of a chart, and the level that it is read from. The size is always a multiple of that level's bucket. */
export type BucketSize = { ms: number; level: Exclude<Level, 'months'> }

/** A bucket of at least two samples, because the times of samples are not exact. */
const finestStep: BucketSize = { ms: 30_000, level: 'samples' }

const steps: BucketSize[] = [
  finestStep,
  ...[1, 2, 5, 10, 15, 30].map((n): BucketSize => ({ ms: minutes(n), level: 'minutes' })),
  ...[1, 2, 3, 6, 12].map((n): BucketSize => ({ ms: hours(n), level: 'hours' })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n): BucketSize => ({ ms: days(n), level: 'days' })),
]

/** Returns the finest step with at most `maxPoints` points whose level still has the data of the whole range. */
export function stepOf(range: Range, maxPoints: number, isRetained: RetentionCheck): BucketSize {
  const fits = ({ ms, level }: BucketSize) => countBuckets(range, ms) <= maxPoints && isRetained(level, range.fromMs)
  return steps.find(fits) ?? { ms: days(365), level: 'days' }
}

const firstBucketMs = ({ fromMs }: Range, stepMs: number) => Math.floor(fromMs / stepMs) * stepMs
const countBuckets = (range: Range, stepMs: number) =>
  Math.max(0, Math.ceil((range.toMs - firstBucketMs(range, stepMs)) / stepMs))

/** Returns the start times of all buckets that overlap the range, in UTC. */
export const timesOf = (range: Range, stepMs: number): number[] =>
  Array.from({ length: countBuckets(range, stepMs) }, (_, i) => firstBucketMs(range, stepMs) + i * stepMs)
