import { gapContainer } from '@shoal/contract'
import type { LogDrop, LogLine, LogLoss } from '@shoal/runtime'
import { dayOf, hours, isoTime, minutes } from '../../../clock.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { levelNumber } from '../levels.ts'
import type { NewLine } from './ingest-store.ts'
import type { LimitKind, Limiter, LogLimits } from './limiter.ts'
import { squidIdOf } from './workload.ts'

/** Lines of a version that were dropped but that its log has not reported yet. */
export type PendingDrop = {
  squidId: number
  lines: number
  isEstimate: boolean
  exceeded: LimitKind
  fromMs: number
  toMs: number
}

/** The dropped lines of a batch, and the drops that must be reported. */
export type DropsOfBatch = {
  /** The numbers of dropped lines of the batch, with the limit that was exceeded. */
  dropped: { exceeded: LimitKind; lines: number }[]
  /** Drops of this and earlier batches that the logs of their versions must report now. */
  dueReports: PendingDrop[]
}

/** A drop is reported after this time without further dropped lines. */
const quietMs = 3_000
/** A drop is reported after this time even if lines are still being dropped. */
const reportMs = minutes(1)
/** A used-up daily quota is reported again after this time, because nothing is stored until the next day. */
const quotaReportMs = hours(1)

/** The dropped lines of all versions until their logs report them. */
export type Drops = {
  /** Adds the drops of a batch. */
  record: (drops: LogDrop[], nowMs: number) => DropsOfBatch
  /** Returns the unreported drops of these versions, which the caller must store. */
  pendingOf: (squidIds: number[]) => PendingDrop[]
  /** Returns the day on which the log of a version last reported that a daily quota is used up. */
  quotaReportedOn: (squidId: number) => string | null
  /** Removes the state of deleted versions. */
  evict: (squidIds: number[]) => void
  /** Returns true if a drop is due to be reported, even if no new lines arrive. */
  hasDue: (nowMs: number) => boolean
}

/**
 * Collects dropped lines until they are reported.
 * @param stored - the dropped lines that earlier workers did not report, and the days on which they reported used-up quotas
 */
export function createDrops(
  stored: { pending: PendingDrop[]; quotaReportedOn: ReadonlyMap<number, string> },
  limiter: Pick<Limiter, 'exceededBy'>,
): Drops {
  const bySquid = new Map(stored.pending.map((drop) => [drop.squidId, drop]))
  const quotaReportedOn = new Map(stored.quotaReportedOn)

  const isDue = ({ squidId, exceeded, fromMs, toMs }: PendingDrop, nowMs: number): boolean => {
    if (dayOf(fromMs) !== dayOf(nowMs)) return true
    if (isQuota(exceeded))
      return nowMs - fromMs >= (quotaReportedOn.get(squidId) === dayOf(nowMs) ? quotaReportMs : quietMs)
    return nowMs - toMs >= quietMs || nowMs - fromMs >= reportMs
  }

  /** Removes a drop from the pending ones, and returns it for its report. Records the day on which a quota was reported. */
  const takePending = (drop: PendingDrop): PendingDrop => {
    bySquid.delete(drop.squidId)
    if (isQuota(drop.exceeded)) quotaReportedOn.set(drop.squidId, dayOf(drop.fromMs))
    return drop
  }

  return {
    record: (drops, nowMs) => {
      const dropped: DropsOfBatch['dropped'] = []
      const dueReports: PendingDrop[] = []
      for (const { workload, lines, isEstimate } of drops) {
        const squidId = squidIdOf(workload)
        if (squidId === null) continue
        const exceeded = limiter.exceededBy(squidId)
        dropped.push({ exceeded, lines })
        const earlier = bySquid.get(squidId)
        if (earlier && !isContinued(earlier, exceeded, nowMs)) dueReports.push(takePending(earlier))
        const drop = bySquid.get(squidId) ?? {
          squidId,
          lines: 0,
          isEstimate: false,
          exceeded,
          fromMs: nowMs,
          toMs: nowMs,
        }
        bySquid.set(squidId, {
          ...drop,
          lines: drop.lines + lines,
          isEstimate: drop.isEstimate || isEstimate,
          toMs: nowMs,
        })
      }
      for (const drop of bySquid.values()) if (isDue(drop, nowMs)) dueReports.push(takePending(drop))
      return { dropped, dueReports }
    },
    pendingOf: (squidIds) => squidIds.flatMap((squidId) => bySquid.get(squidId) ?? []),
    quotaReportedOn: (squidId) => quotaReportedOn.get(squidId) ?? null,
    evict: (squidIds) => {
      for (const squidId of squidIds) {
        bySquid.delete(squidId)
        quotaReportedOn.delete(squidId)
      }
    },
    hasDue: (nowMs) => bySquid.values().some((drop) => isDue(drop, nowMs)),
  }
}

/** Whether nothing more of the version is stored until the next day. */
const isQuota = (exceeded: LimitKind) => exceeded === 'bytesPerDay' || exceeded === 'orgBytesPerDay'

/**
 * Whether a report includes lines that are dropped now because of `exceeded`. A version may exceed its own rate and that of its
 * organization alternately, several times a second: one report then names the limit that was exceeded first.
 */
const isContinued = (earlier: PendingDrop, exceeded: LimitKind, nowMs: number) =>
  dayOf(earlier.fromMs) === dayOf(nowMs) &&
  (earlier.exceeded === exceeded || (!isQuota(earlier.exceeded) && !isQuota(exceeded)))

/** Returns the line of the log that reports a drop. */
export function lineOfDrop(drop: PendingDrop, limits: LogLimits, nowMs: number): Omit<NewLine, 'seq'> {
  const message = messageOf(drop, limits, nowMs)
  const level = levelNumber('WARNING')
  return { squidId: drop.squidId, atMs: nowMs, level, container: gapContainer, ns: null, message, fields: null }
}

/** Returns the line that reports in a version's log that lines of a container were lost before they could be stored. */
export function lineOfLoss({ workload, container, from, to, isCertain }: LogLoss, nowMs: number): LogLine {
  const timeOf = (at: Date) => isoTime(at.getTime()).slice(0, 19).replace('T', ' ')
  const when = from ? `between ${timeOf(from)} and ${timeOf(to)} UTC` : `before ${timeOf(to)} UTC`
  const msg = `Lines written ${when} ${isCertain ? 'were lost' : 'may be missing'}: their host deleted them before they could be collected`
  const text = JSON.stringify({ level: 'WARNING', time: nowMs, ns: 'shoal', msg })
  // Generation 0 separates the line from those that the container wrote: times never decrease among the lines of one container
  // of a generation.
  return {
    workload: workloadIdOf(squidIdOf(workload) ?? 0, 0),
    container,
    stream: 'stdout',
    text,
    readAt: new Date(nowMs),
  }
}

function messageOf({ lines, isEstimate, exceeded, fromMs, toMs }: PendingDrop, limits: LogLimits, nowMs: number) {
  const count = `${isEstimate ? 'about ' : ''}${format(lines)} ${lines === 1 ? 'line' : 'lines'}`
  const when = `between ${timeOfDay(fromMs)} and ${timeOfDay(toMs)} UTC`
  const isToday = dayOf(fromMs) === dayOf(nowMs)
  const outlook = isQuota(exceeded) && isToday ? '. Further lines are dropped until 00:00 UTC' : ''
  return `${count} dropped ${when}: more than ${descriptions[exceeded](limits[exceeded])}${outlook}`
}

const bytesPerSecond = (limit: number) => `${formatBytes(limit)} a second`
const linesPerSecond = (limit: number) => `${format(limit)} ${limit === 1 ? 'line' : 'lines'} a second`
const bytesPerDay = (limit: number) => `${formatBytes(limit)} a day`
const inOrg = (describe: (limit: number) => string) => (limit: number) =>
  `${describe(limit)} in all logs of the organization`

const descriptions: Record<LimitKind, (limit: number) => string> = {
  bytesPerSecond,
  linesPerSecond,
  bytesPerDay,
  orgBytesPerSecond: inOrg(bytesPerSecond),
  orgLinesPerSecond: inOrg(linesPerSecond),
  orgBytesPerDay: inOrg(bytesPerDay),
}

const timeOfDay = (ms: number) => isoTime(ms).slice(11, 19)
const format = (count: number) => count.toLocaleString('en-US')
const formatBytes = (bytes: number) => (bytes >= 1e6 ? `${format(bytes / 1e6)} MB` : `${format(bytes / 1e3)} KB`)
