import type { App } from '../../../app.ts'
import { days, hours } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import type { DayUsage } from '../receipts/rate.ts'
import { dayOfMs, hourOfMs, monthOfMs } from '../time.ts'
import * as store from './meter-store.ts'
import { extendSpans, unrecordedUsage, usageOfSpans, type ObservedResource, type HourlyUsage } from './spans.ts'

/** Request counts may reach the database this late. */
const rpcLateMs = days(2)
const spansKeptMs = days(3)

/**
 * One reading of the meter: extends the spans of running programs and stored data, and records hours that have ended. Uses the clock of the
 * installation; concurrent workers do no harm, because records are keyed by resource and hour.
 */
export async function meterTick(app: Pick<App, 'clock' | 'db'>): Promise<void> {
  const now = app.clock.now()
  const nowMs = now.getTime()
  await app.db.transaction(async (db) => {
    const meter = await store.readMeter(db)
    const observed = observeNow(await store.selectRunning(db), await store.selectDatabases(db))
    const spans = await store.selectSpans(db, 0)
    await store.putSpans(db, extendSpans(spans, observed, meter?.lastLookMs ?? null, nowMs))
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
  // An hour earlier, in case the clock was set back; requests may arrive even later.
  const spansFromMs = fromMs - hours(1)
  const rpcFromMs = fromMs - rpcLateMs
  const due = [
    ...usageOfSpans(await store.selectSpans(db, spansFromMs), spansFromMs, untilMs),
    ...(await store.selectRpc(db, rpcFromMs)).filter((usage) => usage.hourMs < untilMs),
  ]
  await store.addRecords(db, unrecordedUsage(due, await store.selectRecorded(db, rpcFromMs)), at)
}

/** All known usage of an organization in a month: the records, and what has not been recorded since. */
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

/** The billed resources: a hibernated version has no programs, only its disk. */
export function observeNow(
  containers: readonly store.RunningContainer[],
  databases: readonly store.StoredDatabase[],
): ObservedResource[] {
  const observed: ObservedResource[] = []
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
    observed.push({ ...version, resource: c.container, type, size: 1, sinceMs: c.sinceMs })
  }
  observed.push(...collocated.values())
  for (const { profile, totalBytes, ...version } of databases) {
    const sinceMs = runningSince.get(version.squidId)
    if (sinceMs !== undefined && !collocated.has(version.squidId))
      observed.push({ ...version, resource: 'db', type: `postgres.${profile}`, size: 1, sinceMs })
    observed.push({ ...version, resource: 'disk', type: 'storage', size: totalBytes, sinceMs: null })
  }
  return observed
}
