import type { IngressCount } from '@shoal/contract'

const days = 7
const dayMs = 86_400_000

/** The requests to one version on each of the last seven UTC days, oldest first, valid and failed together (spec 2.7). */
export type DailyRequests = { days: readonly number[]; total: number }

const noRequests: DailyRequests = { days: Array.from({ length: days }, () => 0), total: 0 }

/** The requests to all versions. `dayStartsMs` are the starts of the days in Unix milliseconds, oldest first. */
export type WeekOfRequests = { dayStartsMs: readonly number[]; requestsOf: (squidId: number) => DailyRequests }

/** Groups counts by version and day. Counts before the last seven days are omitted. */
export function weekOfRequests(counts: readonly IngressCount[], nowMs: number): WeekOfRequests {
  const today = Math.floor(nowMs / dayMs)
  const byId = new Map<number, number[]>()
  for (const { time, squidId, count } of counts) {
    const index = days - 1 - (today - Math.floor(Date.parse(time) / dayMs))
    if (index < 0 || index >= days) continue
    const buckets = byId.get(squidId) ?? Array.from({ length: days }, () => 0)
    buckets[index] = (buckets[index] ?? 0) + Number(count)
    byId.set(squidId, buckets)
  }
  const sums = new Map([...byId].map(([id, buckets]) => [id, { days: buckets, total: sum(buckets) }]))
  const dayStartsMs = noRequests.days.map((_, index) => (today - (days - 1 - index)) * dayMs)
  return { dayStartsMs, requestsOf: (squidId) => sums.get(squidId) ?? noRequests }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
