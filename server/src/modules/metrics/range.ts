import { timeGroups, type TimeGroup } from '@shoal/contract'
import { days, hours } from '../../clock.ts'
import { invalidField } from '../../errors.ts'
import { levelOfGroup, type RetentionCheck } from './levels.ts'

/** In milliseconds; `to` is exclusive. */
export type Range = { fromMs: number; toMs: number }

const maxMs = days(366 * 5)

/**
 * The requested range, by default the last `defaultMs`; never beyond now.
 * @throws Refusal 400
 */
export function rangeOf(
  query: { from?: string | undefined; to?: string | undefined },
  now: Date,
  defaultMs: number,
): Range {
  const toMs = Math.min(query.to ? timeOf(query.to) : Infinity, now.getTime())
  const fromMs = query.from ? timeOf(query.from) : toMs - defaultMs
  if (fromMs > toMs) throw invalidField('from', 'Must be before the end')
  if (toMs - fromMs > maxMs) throw invalidField('from', 'The range must not be longer than five years')
  return { fromMs, toMs }
}

/** Times without a zone are UTC, like all buckets. */
function timeOf(text: string): number {
  const hasZone = /(Z|[+-]\d{2}:?\d{2})$/i.test(text) || !text.includes('T')
  return Date.parse(hasZone ? text : `${text}Z`)
}

const maxOf: Record<TimeGroup, number> = { Minute: hours(6), Hour: days(14), Day: days(366), Month: Infinity }

/**
 * The bucket size of a chart of the range (spec 3, timeGroup): never finer than the data stored for its beginning, because
 * deleted data would look like a time without requests.
 */
export function timeGroupOf({ fromMs, toMs }: Range, isKept: RetentionCheck): TimeGroup {
  const fits = (group: TimeGroup) => toMs - fromMs <= maxOf[group] && isKept(levelOfGroup[group], fromMs)
  return timeGroups.find(fits) ?? 'Month'
}

/** Starts of all buckets that overlap the range, in UTC. */
export function bucketsOf({ fromMs, toMs }: Range, group: TimeGroup): Date[] {
  const buckets: Date[] = []
  for (let at = startOf(fromMs, group); at < toMs; at = nextBucket(at, group)) buckets.push(new Date(at))
  return buckets
}

const lengths = { Minute: 60_000, Hour: hours(1), Day: days(1) }

function startOf(ms: number, group: TimeGroup): number {
  if (group !== 'Month') return Math.floor(ms / lengths[group]) * lengths[group]
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth())
}

function nextBucket(ms: number, group: TimeGroup): number {
  if (group !== 'Month') return ms + lengths[group]
  const at = new Date(ms)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)
}
