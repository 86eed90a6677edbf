import { hourStartMs, msPerHour } from '../time.ts'

/** A metered resource of a version: a program, a database, or a database's disk. */
export type MeteredResource = {
  orgId: number
  squidId: number
  /** `name@slot` */
  squidName: string
  /** Unique within the version: `api-2`, a processor's name, `db`, `disk`. */
  resource: string
  /** The type on receipts: `api.small`, `storage`. */
  type: string
  /** 1 for programs, bytes for storage. */
  size: number
}

/** A metered resource, and the period in which it was observed. */
export type Span = MeteredResource & { fromMs: number; toMs: number }

/** A resource that a reading observed. It has existed without interruption since `sinceMs`; null if unknown. */
export type ObservedResource = MeteredResource & { sinceMs: number | null }

/**
 * Returns the spans that a reading adds or extends. If a resource has existed since the end of its last span, that span is extended
 * to `nowMs`, even across a gap in readings. The span of a new resource starts at the previous reading at the earliest. Spans of a
 * resource never overlap, even if the clock is set back or a reading is repeated.
 */
export function extendSpans(
  spans: readonly Span[],
  observed: readonly ObservedResource[],
  lastObservedMs: number | null,
  nowMs: number,
): Span[] {
  const newest = new Map<string, Span>()
  for (const span of spans) {
    const previous = newest.get(keyOf(span))
    if (!previous || previous.toMs < span.toMs) newest.set(keyOf(span), span)
  }
  const changedSpans: Span[] = []
  for (const { sinceMs, ...metered } of observed) {
    const lastSpan = newest.get(keyOf(metered))
    const fromMs = Math.max(sinceMs ?? 0, lastSpan?.toMs ?? lastObservedMs ?? nowMs)
    if (fromMs >= nowMs) continue
    const isContinued =
      lastSpan && fromMs === lastSpan.toMs && lastSpan.type === metered.type && lastSpan.size === metered.size
    const span = isContinued ? { ...lastSpan, toMs: nowMs } : { ...metered, fromMs, toMs: nowMs }
    newest.set(keyOf(span), span)
    changedSpans.push(span)
  }
  return changedSpans
}

const keyOf = ({ squidId, resource }: Pick<MeteredResource, 'squidId' | 'resource'>) => `${squidId}/${resource}`

/** Usage of one resource in one hour. */
export type HourlyUsage = {
  orgId: number
  squidId: number | null
  squidName: string | null
  source: 'containers' | 'databases' | 'rpc'
  resource: string
  type: string
  hourMs: number
  /** Milliseconds for programs, bytes multiplied by milliseconds for storage, or a number of requests. */
  quantity: bigint
}

/** Splits spans into usage by hour, from `fromMs` until `toMs`, both at the start of an hour. */
export function usageOfSpans(spans: readonly Span[], fromMs: number, toMs: number): HourlyUsage[] {
  const byHour = new Map<string, HourlyUsage>()
  for (const span of spans) {
    const endMs = Math.min(span.toMs, toMs)
    for (let hourMs = hourStartMs(Math.max(span.fromMs, fromMs)); hourMs < endMs; hourMs += msPerHour) {
      const ms = Math.min(endMs, hourMs + msPerHour) - Math.max(span.fromMs, hourMs)
      if (ms <= 0) continue
      const resource = `${span.squidId}/${span.resource}/${span.type}/${span.size}`
      const key = `${resource} ${hourMs}`
      const usage = byHour.get(key)
      const quantity = BigInt(span.size) * BigInt(ms)
      if (usage) usage.quantity += quantity
      else
        byHour.set(key, {
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
  return [...byHour.values()]
}

/** The sum of the usage records of one resource in one hour, and their number. */
export type RecordedUsage = {
  source: HourlyUsage['source']
  resource: string
  hourMs: number
  quantity: bigint
  parts: number
}

/** Returns the usage in `due` that is not recorded yet, with the number of its next part. */
export function unrecordedUsage(
  due: readonly HourlyUsage[],
  recorded: readonly RecordedUsage[],
): (HourlyUsage & { part: number })[] {
  const recordedByKey = new Map(recorded.map((r) => [recordKey(r), r]))
  return due.flatMap((usage) => {
    const previous = recordedByKey.get(recordKey(usage))
    const quantity = usage.quantity - (previous?.quantity ?? 0n)
    return quantity > 0n ? [{ ...usage, quantity, part: previous?.parts ?? 0 }] : []
  })
}

const recordKey = ({ source, resource, hourMs }: Pick<HourlyUsage, 'source' | 'resource' | 'hourMs'>) =>
  `${source} ${resource} ${hourMs}`
