import { hourOfMs, msPerHour } from '../time.ts'

/** A metered resource of a version: a program, a database, or a database's disk. */
export type MeteredResource = {
  orgId: number
  squidId: number
  /** `name@slot` */
  squidName: string
  /** Within the version: `api-2`, a processor's name, `db`, `disk`. */
  resource: string
  /** The type as on receipts. */
  type: string
  /** 1 for programs, bytes for storage. */
  size: number
}

/** When it was observed. */
export type Span = MeteredResource & { fromMs: number; toMs: number }

/** An observed resource, and since when it has existed without interruption; null if unknown. */
export type ObservedResource = MeteredResource & { sinceMs: number | null }

/**
 * The spans that are new or longer after a reading. An already observed resource continues from the end of its span, also across a
 * time without readings if it existed throughout; a new one is billed from the previous reading at the earliest. A clock that is set
 * back and a repeated reading change nothing: spans of a resource never overlap.
 */
export function extendSpans(
  last: readonly Span[],
  observed: readonly ObservedResource[],
  lastObservedMs: number | null,
  nowMs: number,
): Span[] {
  const before = new Map<string, Span>()
  for (const span of last) {
    const known = before.get(keyOf(span))
    if (!known || known.toMs < span.toMs) before.set(keyOf(span), span)
  }
  const changed: Span[] = []
  for (const { sinceMs, ...metered } of observed) {
    const old = before.get(keyOf(metered))
    const fromMs = Math.max(sinceMs ?? 0, old?.toMs ?? lastObservedMs ?? nowMs)
    if (fromMs >= nowMs) continue
    const continues = old && fromMs === old.toMs && old.type === metered.type && old.size === metered.size
    const span = continues ? { ...old, toMs: nowMs } : { ...metered, fromMs, toMs: nowMs }
    before.set(keyOf(span), span)
    changed.push(span)
  }
  return changed
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
  /** ms, byte-ms or requests. */
  quantity: bigint
}

/** Usage of `spans` by hour, for hours that begin at `fromMs` or later and before `toMs`. */
export function usageOfSpans(spans: readonly Span[], fromMs: number, toMs: number): HourlyUsage[] {
  const byHour = new Map<string, HourlyUsage>()
  for (const span of spans) {
    const endMs = Math.min(span.toMs, toMs)
    for (let hourMs = hourOfMs(Math.max(span.fromMs, fromMs)); hourMs < endMs; hourMs += msPerHour) {
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

export type RecordedUsage = {
  source: HourlyUsage['source']
  resource: string
  hourMs: number
  quantity: bigint
  parts: number
}

/** Usage that is due and not recorded yet; empty once the result has been recorded. */
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
