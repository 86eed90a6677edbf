import type { IngressCount } from '@shoal/contract'

const days = 7
const dayMs = 86_400_000

/** Requests to one version on each of the last seven days (UTC), oldest first, good and bad together (spec 2.7). */
export type DailyRequests = { days: readonly number[]; total: number }

const none: DailyRequests = { days: Array.from({ length: days }, () => 0), total: 0 }

/** By the version's id; versions that nobody asked are left out. */
export function dailyRequests(counts: readonly IngressCount[], nowMs: number): Map<number, DailyRequests> {
  const today = Math.floor(nowMs / dayMs)
  const byId = new Map<number, number[]>()
  for (const { time, squidId, count } of counts) {
    const index = days - 1 - (today - Math.floor(Date.parse(time) / dayMs))
    if (index < 0 || index >= days) continue
    const buckets = byId.get(squidId) ?? Array.from({ length: days }, () => 0)
    buckets[index] = (buckets[index] ?? 0) + Number(count)
    byId.set(squidId, buckets)
  }
  return new Map([...byId].map(([id, buckets]) => [id, { days: buckets, total: buckets.reduce((a, b) => a + b, 0) }]))
}

export const requestsOf = (byId: ReadonlyMap<number, DailyRequests>, squidId: number): DailyRequests =>
  byId.get(squidId) ?? none

/** The beginnings of the days, oldest first. */
export const dayStarts = (nowMs: number): number[] =>
  Array.from({ length: days }, (_, index) => (Math.floor(nowMs / dayMs) - (days - 1 - index)) * dayMs)
