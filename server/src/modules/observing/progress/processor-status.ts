import type { Processor } from '@shoal/contract'
import { isoTime, minutes } from '../../../clock.ts'
import { claimsCaughtUp, freshHead, headMovedAt, isFarBehind } from './freshness.ts'
import type { ObservedContainer, ObservedProcessor } from './details-store.ts'
import { silenceOf, type Silence } from './silence.ts'

/** A processor that makes no progress for this long although its chain grows, or does not respond for this long, is stuck. */
const stuckAfterMs = minutes(5)
/** A processor whose log shows that it still waits for its data source this long after its start is reported as not indexing. */
const notIndexingAfterMs = minutes(2)
/** A processor that serves no metrics this long after its start has the status UNKNOWN. */
const unknownAfterMs = minutes(10)
/** A program is in a crash loop after this many crashes in a row, until it has run for `stableAfterMs`. */
const crashLoopCrashes = 3
const stableAfterMs = minutes(2)

/** `sinceMs`: when the status began; null if that was not observed. */
type Status = Pick<Processor, 'status' | 'reason'> & { sinceMs: number | null }

/** Whether a container crashes repeatedly. */
export function isCrashLooping(row: ObservedContainer, nowMs: number): boolean {
  if (row.state === 'failed') return true
  if (row.crashesInARow < crashLoopCrashes) return false
  return row.state === 'backoff' || (row.state === 'running' && nowMs - row.sinceMs < stableAfterMs)
}

/** Returns the status of a processor (spec 4), with the reason if there is a problem. */
export function processorStatus(
  container: ObservedContainer | undefined,
  metrics: ObservedProcessor | undefined,
  nowMs: number,
): Status {
  if (!container) return { status: 'STARTING', reason: null, sinceMs: null }
  const { state, sinceMs } = container
  const stuck = stuckReason(container, metrics, nowMs)
  // Each restart in a crash loop resets `sinceMs`, so the start of the loop is not known.
  if (stuck) return { ...stuck, status: 'STUCK', sinceMs: isCrashLooping(container, nowMs) ? null : stuck.sinceMs }
  if (state === 'finished') return { status: 'SYNCED', reason: 'It has finished its work.', sinceMs }
  if (state !== 'running') return { status: 'STARTING', reason: container.reason, sinceMs }
  if (!isOfCurrentRun(container, metrics)) return statusWithoutMetrics(container, nowMs)
  const silence = silenceOf(metrics, nowMs)
  if (silence) return { status: 'STALLED', reason: silenceReason(container, silence), sinceMs: silence.sinceMs }
  return hasCaughtUp(metrics, nowMs)
    ? { status: 'SYNCED', reason: null, sinceMs: null }
    : { status: 'SYNCING', reason: null, sinceMs: metrics.caughtUpAtMs ?? sinceMs }
}

/**
 * Returns why a processor has made no progress for `waitMs`, and since when; null if it makes progress, or if that is unknown. `reason` is
 * null if the cause is unknown.
 */
export function stuckReason(
  container: ObservedContainer,
  metrics: ObservedProcessor | undefined,
  nowMs: number,
  waitMs = stuckAfterMs,
): { reason: string | null; sinceMs: number } | null {
  const { state, exitCode, reason, sinceMs } = container
  if (isCrashLooping(container, nowMs)) return { reason: crashReason(container), sinceMs }
  // Exit code 0: the processor has completed a finite range of blocks.
  if (state === 'finished') return exitCode === 0 ? null : { reason, sinceMs }
  if (state !== 'running') return null
  if (!isOfCurrentRun(container, metrics))
    return notIndexingReason(container, nowMs, Math.max(waitMs, notIndexingAfterMs))
  const { unresponsiveSinceMs, currentBlock } = metrics
  if (unresponsiveSinceMs !== null && nowMs - unresponsiveSinceMs >= waitMs)
    return {
      reason: `Its metrics have not responded since ${readableTime(unresponsiveSinceMs)}.`,
      sinceMs: unresponsiveSinceMs,
    }
  const silence = silenceOf(metrics, nowMs)
  // The other signs are not caused by the processor: an unknown or idle chain is reported by another alert.
  if (silence?.sign === 'requests' && nowMs - silence.sinceMs >= waitMs)
    return { reason: silenceReason(container, silence), sinceMs: silence.sinceMs }
  const stalledAtMs = hasCaughtUp(metrics, nowMs) ? null : stalledSince(metrics, sinceMs, nowMs, waitMs)
  if (stalledAtMs === null) return null
  const head = Math.max(metrics.totalBlocks, freshHead(metrics, nowMs)?.headBlock ?? 0)
  return {
    reason: `It has been at block ${currentBlock} since ${readableTime(stalledAtMs)} while the chain advanced to ${head}. Its log may show why; often its RPC endpoint does not respond.`,
    sinceMs: stalledAtMs,
  }
}

/** Whether the metrics are of the current run of the program. */
export const isOfCurrentRun = (
  container: ObservedContainer,
  metrics: ObservedProcessor | undefined,
): metrics is ObservedProcessor => metrics !== undefined && metrics.scrapedAtMs >= container.sinceMs

/** Formats a time for messages: `2026-11-22 15:42:41 UTC`. */
export const readableTime = (ms: number): string => `${isoTime(ms).slice(0, 19).replace('T', ' ')} UTC`

/** Returns why a processor has not begun to index, if its log shows that it has waited for its data source for `waitMs`; null otherwise. */
export function notIndexingReason({ sinceMs, source }: ObservedContainer, nowMs: number, waitMs = notIndexingAfterMs) {
  if (source === null || nowMs - sinceMs < waitMs) return null
  return {
    reason: `It has not begun to index: its data source has not responded since ${readableTime(sinceMs)}. ${source}`,
    sinceMs,
  }
}

/** Like `notIndexingReason`, for a program whose log does not show what it waits for. */
export function noMetricsReason({ sinceMs }: ObservedContainer, nowMs: number) {
  if (nowMs - sinceMs < unknownAfterMs) return null
  const reason =
    'It is running, but serves no metrics on the port of PROCESSOR_PROMETHEUS_PORT. Its data source may not be responding: see its log.'
  return { reason, sinceMs }
}

function statusWithoutMetrics(container: ObservedContainer, nowMs: number): Status {
  const waiting = notIndexingReason(container, nowMs)
  if (waiting) return { status: 'STALLED', ...waiting }
  const unknown = noMetricsReason(container, nowMs)
  return unknown ? { status: 'UNKNOWN', ...unknown } : { status: 'STARTING', reason: null, sinceMs: container.sinceMs }
}

const silenceTexts: Record<Silence['sign'], (since: string) => string> = {
  metrics: (since) => `Its metrics have not responded since ${since}.`,
  requests: (since) => `Its data source has not responded since ${since}.`,
  nodes: (since) => `No healthy node of its chain has shown the head since ${since}.`,
  head: (since) => `Its data source has shown no new block since ${since}, which is much longer than usual.`,
}

const silenceReason = ({ source }: ObservedContainer, { sign, sinceMs }: Silence): string =>
  [silenceTexts[sign](readableTime(sinceMs)), ...(source === null ? [] : [source])].join(' ')

/** Whether a processor reports that it has caught up, and the independent head does not contradict that. */
const hasCaughtUp = (metrics: ObservedProcessor, nowMs: number): boolean =>
  claimsCaughtUp(metrics) && !isFarBehind(metrics, nowMs)

/**
 * Returns since when a processor has made no progress although its chain has grown; null if that is less than `waitMs` ago. Time without
 * observations does not count.
 */
function stalledSince(metrics: ObservedProcessor, startedMs: number, nowMs: number, waitMs: number): number | null {
  const { progressedAtMs, scrapedAtMs } = metrics
  const movedAtMs = headMovedAt(metrics, nowMs)
  if (progressedAtMs === null || movedAtMs === null) return null
  const sinceMs = Math.max(progressedAtMs, startedMs)
  // A processor that claims to have caught up accumulates no `stalledMs`, but here the independent head contradicts the claim.
  const maxStalledMs = claimsCaughtUp(metrics) ? Infinity : metrics.stalledMs
  return movedAtMs > sinceMs && Math.min(scrapedAtMs - sinceMs, maxStalledMs) >= waitMs ? sinceMs : null
}

/** Describes, in two sentences, how a container ended and how often it was restarted. */
export function crashReason({ reason, restarts, exitCode, isOutOfMemory }: ObservedContainer): string {
  const ended = isOutOfMemory
    ? 'It ran out of memory'
    : (reason?.replace(/\.$/, '') ?? `It ended with exit code ${exitCode}`)
  return `${ended}. It was restarted ${restarts === 1 ? 'once' : `${restarts} times`}.`
}
