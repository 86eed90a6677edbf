import type { Processor } from '@shoal/contract'
import { isoTime, minutes } from '../../../clock.ts'
import { claimsCaughtUp, freshHead, headMovedAt, isFarBehind } from './freshness.ts'
import type { ObservedContainer, ObservedProcessor } from './parts-store.ts'
import { silenceOf, type Silence } from './silence.ts'

/** A processor that makes no progress for this long although its chain grows, or does not respond for this long, is stuck. */
const startTimeoutMs = minutes(5)
/** A processor whose log shows that it waits for its data source is reported this long after its start. */
const indexesWithinMs = minutes(2)
/** The status of a processor that has no metrics this long after its start is unknown. */
const unknownAfterMs = minutes(10)
/** A program that has crashed this often in a row is in a crash loop, until it has run for `stableAfterMs`. */
const crashesOfLoop = 3
const stableAfterMs = minutes(2)

/** `sinceMs`: null if the beginning was not observed. */
type Status = Pick<Processor, 'status' | 'reason'> & { sinceMs: number | null }

/** True while a container crashes repeatedly. */
export function isCrashLooping(row: ObservedContainer, nowMs: number): boolean {
  if (row.state === 'failed') return true
  if (row.crashesInARow < crashesOfLoop) return false
  return row.state === 'backoff' || (row.state === 'running' && nowMs - row.sinceMs < stableAfterMs)
}

/** The status of a processor (spec 4, contract 7), with the reason if there is a problem. */
export function processorStatus(
  container: ObservedContainer | undefined,
  seen: ObservedProcessor | undefined,
  nowMs: number,
): Status {
  if (!container) return { status: 'STARTING', reason: null, sinceMs: null }
  const { state, sinceMs } = container
  const stuck = whyStuck(container, seen, nowMs)
  // Each start of a crash loop resets the time; the first one is not known.
  if (stuck) return { ...stuck, status: 'STUCK', sinceMs: isCrashLooping(container, nowMs) ? null : stuck.sinceMs }
  if (state === 'finished') return { status: 'SYNCED', reason: 'It has finished its work.', sinceMs }
  if (state !== 'running') return { status: 'STARTING', reason: container.reason, sinceMs }
  if (!isOfCurrentRun(container, seen)) return statusWithoutMetrics(container, nowMs)
  const silence = silenceOf(seen, nowMs)
  if (silence) return { status: 'STALLED', reason: silenceReason(container, silence), sinceMs: silence.sinceMs }
  return hasCaughtUp(seen, nowMs)
    ? { status: 'SYNCED', reason: null, sinceMs: null }
    : { status: 'SYNCING', reason: null, sinceMs: seen.caughtUpAtMs ?? sinceMs }
}

/** Why a processor makes no progress, and since when; null if it does, or if that is unknown. */
export function whyStuck(
  container: ObservedContainer,
  seen: ObservedProcessor | undefined,
  nowMs: number,
  waitMs = startTimeoutMs,
): { reason: string | null; sinceMs: number } | null {
  const { state, exitCode, reason, sinceMs } = container
  if (isCrashLooping(container, nowMs)) return { reason: crashReason(container), sinceMs }
  // Exit 0 is the end of a finite range of blocks (contract 4.1).
  if (state === 'finished') return exitCode === 0 ? null : { reason, sinceMs }
  if (state !== 'running') return null
  if (!isOfCurrentRun(container, seen)) return whyNotIndexing(container, nowMs, Math.max(waitMs, indexesWithinMs))
  const { unansweredSinceMs, currentBlock } = seen
  if (unansweredSinceMs !== null && nowMs - unansweredSinceMs >= waitMs)
    return {
      reason: `Its metrics have not answered since ${readableTime(unansweredSinceMs)}.`,
      sinceMs: unansweredSinceMs,
    }
  const silence = silenceOf(seen, nowMs)
  // The other signs are not faults of the processor: an unknown or idle chain is reported by another alert.
  if (silence?.sign === 'requests' && nowMs - silence.sinceMs >= waitMs)
    return { reason: silenceReason(container, silence), sinceMs: silence.sinceMs }
  const stalledAtMs = hasCaughtUp(seen, nowMs) ? null : stalledSince(seen, sinceMs, nowMs, waitMs)
  if (stalledAtMs === null) return null
  const head = Math.max(seen.totalBlocks, freshHead(seen, nowMs)?.headBlock ?? 0)
  return {
    reason: `It has been at block ${currentBlock} since ${readableTime(stalledAtMs)} while the chain went on to ${head}. Its log may say why; often its RPC endpoint does not answer.`,
    sinceMs: stalledAtMs,
  }
}

/** Whether the metrics are of the current run of the program. */
export const isOfCurrentRun = (
  container: ObservedContainer,
  seen: ObservedProcessor | undefined,
): seen is ObservedProcessor => seen !== undefined && seen.scrapedAtMs >= container.sinceMs

/** Formats a time for messages: `2026-11-22 15:42:41 UTC`. */
export const readableTime = (ms: number): string => `${isoTime(ms).slice(0, 19).replace('T', ' ')} UTC`

/** Why a processor has not begun to index, if its log shows that it has waited for its data source for `waitMs`; null otherwise. */
export function whyNotIndexing({ sinceMs, source }: ObservedContainer, nowMs: number, waitMs = indexesWithinMs) {
  if (source === null || nowMs - sinceMs < waitMs) return null
  return {
    reason: `It has not begun to index: its data source has not answered since ${readableTime(sinceMs)}. ${source}`,
    sinceMs,
  }
}

/** Like `whyNotIndexing`, for a program whose log does not show what it waits for. */
export function whyUnknown({ sinceMs }: ObservedContainer, nowMs: number) {
  if (nowMs - sinceMs < unknownAfterMs) return null
  const reason =
    'It runs, but shows no metrics on the port of PROCESSOR_PROMETHEUS_PORT. Its data source may not answer: see its log.'
  return { reason, sinceMs }
}

function statusWithoutMetrics(container: ObservedContainer, nowMs: number): Status {
  const waiting = whyNotIndexing(container, nowMs)
  if (waiting) return { status: 'STALLED', ...waiting }
  const unknown = whyUnknown(container, nowMs)
  return unknown ? { status: 'UNKNOWN', ...unknown } : { status: 'STARTING', reason: null, sinceMs: container.sinceMs }
}

const silences: Record<Silence['sign'], (since: string) => string> = {
  metrics: (since) => `Its metrics have not answered since ${since}.`,
  requests: (since) => `Its data source has not answered since ${since}.`,
  nodes: (since) => `No healthy node of its chain has shown the head since ${since}.`,
  head: (since) => `Its data source has shown no new block since ${since}, which is much longer than usual.`,
}

const silenceReason = ({ source }: ObservedContainer, { sign, sinceMs }: Silence): string =>
  [silences[sign](readableTime(sinceMs)), ...(source === null ? [] : [source])].join(' ')

/** Whether it reports that it has caught up, and the independent head does not contradict that. */
const hasCaughtUp = (seen: ObservedProcessor, nowMs: number): boolean =>
  claimsCaughtUp(seen) && !isFarBehind(seen, nowMs)

/** Since when it has made no progress although its chain has grown; null if not for `waitMs`. Time without observations does not count. */
function stalledSince(seen: ObservedProcessor, startedMs: number, nowMs: number, waitMs: number): number | null {
  const { progressedAtMs, scrapedAtMs } = seen
  const movedAtMs = headMovedAt(seen, nowMs)
  if (progressedAtMs === null || movedAtMs === null) return null
  const sinceMs = Math.max(progressedAtMs, startedMs)
  // A processor that claims to have caught up accumulates no `stillMs`, but here the independent head contradicts the claim.
  const maxMs = claimsCaughtUp(seen) ? Infinity : seen.stillMs
  return movedAtMs > sinceMs && Math.min(scrapedAtMs - sinceMs, maxMs) >= waitMs ? sinceMs : null
}

/** Sentences with how the container ended and how often it was restarted. */
export function crashReason({ reason, restarts, exitCode, isOutOfMemory }: ObservedContainer): string {
  const ended = isOutOfMemory
    ? 'It ran out of memory'
    : (reason?.replace(/\.$/, '') ?? `It ended with exit code ${exitCode}`)
  return `${ended}. It was restarted ${restarts} times.`
}
