import type { App } from '../../../app.ts'
import { dayOf, days, hours, monthOf } from '../../../clock.ts'
import type { Db } from '../../../db/database.ts'
import { isApi, isHasura } from '../../containers.ts'
import type { DayUsage } from '../receipts/rate.ts'
import { hourStartMs } from '../time.ts'
import { groupInSlices, mapInSlices } from '../../../collections/slices.ts'
import * as store from './meter-store.ts'
import {
  extendSpans,
  unrecordedUsage,
  usageOfSpans,
  type ObservedResource,
  type HourlyUsage,
  type Span,
} from './spans.ts'

/** Maximum delay with which gateways write RPC request counts to the database. */
const maxRpcDelayMs = days(2)
/** How long spans are kept after their end. Their usage is recorded within the next hour. */
const spanRetentionMs = days(3)

/**
 * Takes one reading of the meter: extends the spans of running programs and stored data, and records the usage of the hours that
 * have ended. Concurrent calls are safe, because the key of a usage record depends only on the resource, the hour and the part.
 */
export async function meterTick(app: Pick<App, 'clock' | 'db'>): Promise<void> {
  const now = app.clock.now()
  const nowMs = now.getTime()
  await app.db.transaction(async (db) => {
    const meter = await store.readMeter(db)
    const observed = billableResources(await store.selectRunning(db), await store.selectBilledDatabases(db))
    const spans = await store.selectSpans(db, 0)
    await store.saveSpans(db, await extendInSlices(spans, observed, meter?.observedAtMs ?? null, nowMs))
    const untilMs = hourStartMs(nowMs)
    const recordedUntilMs = meter?.recordedUntilMs ?? untilMs
    if (meter === null || untilMs > recordedUntilMs)
      await recordHours(db, Math.min(recordedUntilMs, untilMs), untilMs, now)
    await store.deleteSpansBefore(db, Math.min(nowMs - spanRetentionMs, recordedUntilMs))
    await store.writeMeter(db, {
      observedAtMs: Math.max(nowMs, meter?.observedAtMs ?? 0),
      recordedUntilMs: Math.max(untilMs, recordedUntilMs),
    })
  })
}

/** Extends spans as `extendSpans` does, but in slices of versions, so that other work does not wait for thousands of them. */
async function extendInSlices(
  spans: readonly Span[],
  observed: readonly ObservedResource[],
  lastObservedMs: number | null,
  nowMs: number,
): Promise<Span[]> {
  const versionOf = ({ squidId }: { squidId: number }) => squidId
  const [spansOf, observedOf] = [await groupInSlices(spans, versionOf), await groupInSlices(observed, versionOf)]
  const extended = await mapInSlices(observedOf, ([squidId, resources]) =>
    extendSpans(spansOf.get(squidId) ?? [], resources, lastObservedMs, nowMs),
  )
  return extended.flat()
}

async function recordHours(db: Db, fromMs: number, untilMs: number, at: Date): Promise<void> {
  // Reads spans from an hour earlier, in case the clock was set back, and RPC requests from even earlier, because gateways may write
  // them late.
  const spansFromMs = fromMs - hours(1)
  const rpcFromMs = fromMs - maxRpcDelayMs
  const due = [
    ...usageOfSpans(await store.selectSpans(db, spansFromMs), spansFromMs, untilMs),
    ...(await store.selectRpcUsage(db, rpcFromMs)).filter((usage) => usage.hourMs < untilMs),
  ]
  await store.addRecords(db, unrecordedUsage(due, await store.selectRecordedUsage(db, rpcFromMs)), at)
}

/** Returns the usage of all organizations in the current month, including usage that is not recorded yet. */
export async function usageSoFarByOrg(app: Pick<App, 'clock' | 'db'>): Promise<(DayUsage & { orgId: number })[]> {
  const nowMs = app.clock.now().getTime()
  const [recorded, meter] = await Promise.all([
    store.usageOfMonthByOrg(app.db, monthOf(nowMs)),
    store.readMeter(app.db),
  ])
  const unrecorded = await unrecordedSince(app.db, meter?.recordedUntilMs ?? hourStartMs(nowMs))
  return [...recorded, ...unrecorded.map((usage) => ({ ...toDayUsage(usage), orgId: usage.orgId }))]
}

/**
 * Returns an organization's usage in a month: the recorded usage and, for the current month, the usage that is not recorded yet.
 */
export async function usageSoFar(app: Pick<App, 'clock' | 'db'>, orgId: number, month: string): Promise<DayUsage[]> {
  const [recorded, meter] = await Promise.all([store.usageOfMonth(app.db, orgId, month), store.readMeter(app.db)])
  if (monthOf(app.clock.now().getTime()) !== month) return recorded
  const fromMs = meter?.recordedUntilMs ?? hourStartMs(app.clock.now().getTime())
  return [...recorded, ...(await unrecordedSince(app.db, fromMs, orgId)).map(toDayUsage)]
}

/** Returns the usage since `fromMs` that is not recorded yet, of one organization or of all. */
async function unrecordedSince(db: Db, fromMs: number, orgId?: number): Promise<HourlyUsage[]> {
  const [spans, rpc, alreadyRecorded] = await Promise.all([
    store.selectSpans(db, fromMs, orgId),
    store.selectRpcUsage(db, fromMs, orgId),
    store.selectRecordedUsage(db, fromMs, orgId),
  ])
  return unrecordedUsage([...usageOfSpans(spans, fromMs, Infinity), ...rpc], alreadyRecorded)
}

const toDayUsage = ({ hourMs, type, squidId, squidName, quantity }: HourlyUsage): DayUsage => ({
  day: dayOf(hourMs),
  type,
  squidId,
  squidName,
  quantity,
})

/** Returns the resources to bill now. A hibernated version is billed for its disk only. */
export function billableResources(
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
    observed.push({ ...version, resource: c.container, type: programType(c), size: 1, sinceMs: c.sinceMs })
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

function programType({ container, apiProfile, hasuraProfile, processorProfile }: store.RunningContainer): string {
  if (isApi({ name: container })) return `api.${apiProfile ?? 'small'}`
  return isHasura({ name: container })
    ? `hasura.${hasuraProfile ?? 'small'}`
    : `processor.${processorProfile ?? 'small'}`
}
