import type { App } from '../../../app.ts'
import { days, hours } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import type { DayUsage } from '../receipts/rate.ts'
import { dayOfMs, hourOfMs, monthOfMs } from '../time.ts'
import * as store from './meter-store.ts'
import { extendSpans, unrecordedUsage, usageOfSpans, type ObservedResource, type HourlyUsage } from './spans.ts'

/** Counts of requests may reach the database so much after they were made. */
const rpcLateMs = days(2)
const spansKeptMs = days(3)

/**
 * One look of the meter: what runs and what is kept goes on being counted, and hours that ended go on record. Its clock is the
 * installation's; two workers at once would do no harm, as records are keyed by what they are about.
 */
export async function meterTick(app: Pick<App, 'clock' | 'db'>): Promise<void> {
  const now = app.clock.now()
  const nowMs = now.getTime()
  await app.db.transaction(async (db) => {
    const meter = await store.readMeter(db)
    const seen = observeNow(await store.selectRunning(db), await store.selectDatabases(db))
    const spans = await store.selectSpans(db, 0)
    await store.putSpans(db, extendSpans(spans, seen, meter?.lastLookMs ?? null, nowMs))
    const untilMs = hourOfMs(nowMs)
    const recordedUntilMs = meter?.recordedUntilMs ?? untilMs
    if (meter === null || untilMs > recordedUntilMs)
      await recordHours(db, Math.min(recordedUntilMs, untilMs), untilMs, now)
    await store.deleteSpansBefore(db, Math.min(nowMs - spansKeptMs, recordedUntilMs))
    await store.writeMeter(db, {
      lastLookMs: Math.max(nowMs, meter?.lastLookMs ?? 0),
      recordedUntilMs: Math.max(untilMs, recordedUntilMs),
    })
  })
}

async function recordHours(db: Db, fromMs: number, untilMs: number, at: Date): Promise<void> {
  // An hour before, for a clock that was put back; requests may be later still.
  const spansFromMs = fromMs - hours(1)
  const rpcFromMs = fromMs - rpcLateMs
  const due = [
    ...usageOfSpans(await store.selectSpans(db, spansFromMs), spansFromMs, untilMs),
    ...(await store.selectRpc(db, rpcFromMs)).filter((usage) => usage.hourMs < untilMs),
  ]
  await store.addRecords(db, unrecordedUsage(due, await store.selectRecorded(db, rpcFromMs)), at)
}

/** All that is known of an organization's month: what is on record, and what of the hours since is not yet. */
export async function usageSoFar(app: Pick<App, 'clock' | 'db'>, orgId: number, month: string): Promise<DayUsage[]> {
  const [recorded, meter] = await Promise.all([store.usageOfMonth(app.db, orgId, month), store.readMeter(app.db)])
  if (monthOfMs(app.clock.now().getTime()) !== month) return recorded
  const fromMs = meter?.recordedUntilMs ?? hourOfMs(app.clock.now().getTime())
  const [spans, rpc, known] = await Promise.all([
    store.selectSpans(app.db, fromMs, orgId),
    store.selectRpc(app.db, fromMs, orgId),
    store.selectRecorded(app.db, fromMs, orgId),
  ])
  const due = [...usageOfSpans(spans, fromMs, Infinity), ...rpc]
  return [...recorded, ...unrecordedUsage(due, known).map(toDayUsage)]
}

const toDayUsage = ({ hourMs, type, squidId, squidName, quantity }: HourlyUsage): DayUsage => ({
  day: dayOfMs(hourMs),
  type,
  squidId,
  squidName,
  quantity,
})

/** What is billed of what runs: a hibernated version has no programs, so that its disk is all there is. */
export function observeNow(
  containers: readonly store.RunningContainer[],
  databases: readonly store.StoredDatabase[],
): ObservedResource[] {
  const seen: ObservedResource[] = []
  const runningSince = new Map<number, number>()
  const collocated = new Map<number, ObservedResource>()
  for (const c of containers) {
    const version = { orgId: c.orgId, squidId: c.squidId, squidName: c.squidName }
    runningSince.set(c.squidId, Math.min(runningSince.get(c.squidId) ?? Infinity, c.sinceMs))
    if (!c.isDedicated) {
      const sinceMs = runningSince.get(c.squidId) ?? c.sinceMs
      collocated.set(c.squidId, { ...version, resource: 'version', type: 'collocated', size: 1, sinceMs })
      continue
    }
    const isApi = /^api(-\d+)?$/.test(c.container)
    const profile = (isApi ? c.apiProfile : c.processorProfile) ?? 'small'
    const type = `${isApi ? 'api' : 'processor'}.${profile}`
    seen.push({ ...version, resource: c.container, type, size: 1, sinceMs: c.sinceMs })
  }
  seen.push(...collocated.values())
  for (const { profile, totalBytes, ...version } of databases) {
    const sinceMs = runningSince.get(version.squidId)
    if (sinceMs !== undefined && !collocated.has(version.squidId))
      seen.push({ ...version, resource: 'db', type: `postgres.${profile}`, size: 1, sinceMs })
    seen.push({ ...version, resource: 'disk', type: 'storage', size: totalBytes, sinceMs: null })
  }
  return seen
}
