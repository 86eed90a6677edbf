import { hourOfMs, msPerHour } from '../time.ts'

/** What is metered: one program, one database, one database's disk of a version. */
export type MeteredResource = {
  orgId: number
  squidId: number
  /** `name@slot` */
  squidName: string
  /** Within the version: `api-2`, a processor's name, `db`, `disk`. */
  resource: string
  /** As receipts name it. */
  type: string
  /** 1 for programs, bytes for storage. */
  size: number
}

/** From when to when it was observed. */
export type Span = MeteredResource & { fromMs: number; toMs: number }

/** What a look saw, and since when it has been so without a break; null: nobody knows. */
export type ObservedResource = MeteredResource & { sinceMs: number | null }

/**
 * The spans that are new or longer after a look. What was seen before goes on from where it ended, also over a time when nobody
 * looked, as long as it has been so ever since; what is new is billed from the look before at most. A clock that goes back, and a
 * look that is told twice, change nothing: no moment of a resource is ever in two spans.
 */
export function extendSpans(
  last: readonly Span[],
  seen: readonly ObservedResource[],
  lastLookMs: number | null,
  nowMs: number,
): Span[] {
  const before = new Map<string, Span>()
  for (const span of last) {
    const known = before.get(keyOf(span))
    if (!known || known.toMs < span.toMs) before.set(keyOf(span), span)
  }
  const changed: Span[] = []
  for (const { sinceMs, ...metered } of seen) {
    const old = before.get(keyOf(metered))
    const fromMs = Math.max(sinceMs ?? 0, old?.toMs ?? lastLookMs ?? nowMs)
    if (fromMs >= nowMs) continue
    const goesOn = old && fromMs === old.toMs && old.type === metered.type && old.size === metered.size
    const span = goesOn ? { ...old, toMs: nowMs } : { ...metered, fromMs, toMs: nowMs }
    before.set(keyOf(span), span)
    changed.push(span)
  }
  return changed
}

const keyOf = ({ squidId, resource }: Pick<MeteredResource, 'squidId' | 'resource'>) => `${squidId}/${resource}`

/** How much of one resource falls into one hour. */
export type HourlyUsage = {
  orgId: number
  squidId: number | null
  squidName: string | null
  source: 'containers' | 'databases' | 'rpc'
  resource: string
  type: string
  hourMs: number
  /** ms, byte-ms or requests. */
  quantity: bigint
}

/** What `spans` put into the hours that begin at `fromMs` or later, and before `toMs`. */
export function usageOfSpans(spans: readonly Span[], fromMs: number, toMs: number): HourlyUsage[] {
  const found = new Map<string, HourlyUsage>()
  for (const span of spans) {
    const endMs = Math.min(span.toMs, toMs)
    for (let hourMs = hourOfMs(Math.max(span.fromMs, fromMs)); hourMs < endMs; hourMs += msPerHour) {
      const ms = Math.min(endMs, hourMs + msPerHour) - Math.max(span.fromMs, hourMs)
      if (ms <= 0) continue
      const resource = `${span.squidId}/${span.resource}/${span.type}/${span.size}`
      const key = `${resource} ${hourMs}`
      const usage = found.get(key)
      const quantity = BigInt(span.size) * BigInt(ms)
      if (usage) usage.quantity += quantity
      else
        found.set(key, {
          orgId: span.orgId,
          squidId: span.squidId,
          squidName: span.squidName,
          source: span.type === 'storage' ? 'databases' : 'containers',
          resource,
          type: span.type,
          hourMs,
          quantity,
        })
    }
  }
  return [...found.values()]
}

export type RecordedUsage = {
  source: HourlyUsage['source']
  resource: string
  hourMs: number
  quantity: bigint
  parts: number
}

/** What is due and not on record: the same question asked again after the answer was recorded finds nothing. */
export function unrecordedUsage(
  due: readonly HourlyUsage[],
  recorded: readonly RecordedUsage[],
): (HourlyUsage & { part: number })[] {
  const known = new Map(recorded.map((r) => [recordKey(r), r]))
  return due.flatMap((usage) => {
    const before = known.get(recordKey(usage))
    const quantity = usage.quantity - (before?.quantity ?? 0n)
    return quantity > 0n ? [{ ...usage, quantity, part: before?.parts ?? 0 }] : []
  })
}

const recordKey = ({ source, resource, hourMs }: Pick<HourlyUsage, 'source' | 'resource' | 'hourMs'>) =>
  `${source} ${resource} ${hourMs}`
