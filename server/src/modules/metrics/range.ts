import { timeGroups, type TimeGroup } from '@shoal/contract'
import { days, hours } from '../../clock.ts'
import { invalidField } from '../../errors.ts'
import { parseTime } from '../parse-time.ts'
import { levelOfGroup, type RetentionCheck } from './levels.ts'

/** Milliseconds since 1970; `toMs` is exclusive. */
export type Range = { fromMs: number; toMs: number }

/** The maximum length of a requested range. */
const maxRangeMs = days(366 * 5)

/**
 * Returns the requested range, by default the last `defaultMs`. The range never ends in the future.
 * @throws Refusal 400 if the range is negative or longer than five years
 */
export function rangeOf(
  query: { from?: string | undefined; to?: string | undefined },
  now: Date,
  defaultMs: number,
): Range {
  const toMs = Math.min(query.to ? parseTime('to', query.to) : Infinity, now.getTime())
  const fromMs = query.from ? parseTime('from', query.from) : toMs - defaultMs
  if (fromMs > toMs) throw invalidField('from', 'Must be before the end')
  if (toMs - fromMs > maxRangeMs) throw invalidField('from', 'The range must not be longer than five years')
  return { fromMs, toMs }
}

const maxRangeOfGroupMs: Record<TimeGroup, number> = {
  Minute: hours(6),
  Hour: days(14),
  Day: days(366),
  Month: Infinity,
}

/**
 * Returns the bucket size of a chart of the range (spec 3, timeGroup): never finer than the data that is
 * still stored for the start of the range, because deleted data would look like a period without requests.
 */
export function timeGroupOf({ fromMs, toMs }: Range, isRetained: RetentionCheck): TimeGroup {
  const fits = (group: TimeGroup) =>
    toMs - fromMs <= maxRangeOfGroupMs[group] && isRetained(levelOfGroup[group], fromMs)
  return timeGroups.find(fits) ?? 'Month'
}

/** Returns the start times of all buckets that overlap the range, in UTC. */
export function bucketsOf({ fromMs, toMs }: Range, group: TimeGroup): Date[] {
  const buckets: Date[] = []
  for (let at = startOf(fromMs, group); at < toMs; at = nextBucket(at, group)) buckets.push(new Date(at))
  return buckets
}

const bucketMs = { Minute: 60_000, Hour: hours(1), Day: days(1) }

function startOf(ms: number, group: TimeGroup): number {
  if (group !== 'Month') return Math.floor(ms / bucketMs[group]) * bucketMs[group]
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

function nextBucket(ms: number, group: TimeGroup): number {
  if (group !== 'Month') return ms + bucketMs[group]
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
}
