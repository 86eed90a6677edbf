import type { Processor } from '@shoal/contract'
import { minutes } from '../../clock.ts'
import { claimsCaughtUp, freshHead, headMovedAt, isFarBehind } from './freshness.ts'
import type { SeenContainer, SeenProcessor } from './present-store.ts'

/** A processor that has not moved for this long although its chain has, or does not answer for this long, is stuck. */
const patienceMs = minutes(5)
/** Without any metrics for this long after its start it is not known what it does. */
const unknownAfterMs = minutes(10)
/** Crashed this often in a row, it is in a crash loop, until it has run for a while. */
const crashesOfLoop = 3
const calmMs = minutes(2)

/** `sinceMs`: null where it was not seen. */
type Status = Pick<Processor, 'status' | 'reason'> & { sinceMs: number | null }

/** True while a container crashes again and again. */
export function isCrashLooping(row: SeenContainer, nowMs: number): boolean {
  if (row.state === 'failed') return true
  if (row.crashesInARow < crashesOfLoop) return false
  return row.state === 'backoff' || (row.state === 'running' && nowMs - row.sinceMs < calmMs)
}

/** What a processor does (spec 4, contract 7), and why when that is not well. */
export function processorStatus(
  container: SeenContainer | undefined,
  seen: SeenProcessor | undefined,
  nowMs: number,
): Status {
  if (!container) return { status: 'STARTING', reason: null, sinceMs: null }
  const { state, sinceMs } = container
  const stuck = whyStuck(container, seen, nowMs)
  // Each try of a crash loop begins anew; when the first was is not known.
  if (stuck) return { ...stuck, status: 'STUCK', sinceMs: isCrashLooping(container, nowMs) ? null : stuck.sinceMs }
  if (state === 'finished') return { status: 'SYNCED', reason: 'It has finished its work.', sinceMs }
  if (state !== 'running') return { status: 'STARTING', reason: container.reason, sinceMs }
  if (!isOfThisRun(container, seen)) return unseen(container, nowMs)
  return hasCaughtUp(seen, nowMs)
    ? { status: 'SYNCED', reason: null, sinceMs: null }
    : { status: 'SYNCING', reason: null, sinceMs: seen.caughtUpAtMs ?? sinceMs }
}

/** Why a processor makes no progress, and since when; null while it is well, or while nothing is known of it. */
export function whyStuck(
  container: SeenContainer,
  seen: SeenProcessor | undefined,
  nowMs: number,
  waitMs = patienceMs,
): { reason: string | null; sinceMs: number } | null {
  const { state, exitCode, reason, sinceMs } = container
  if (isCrashLooping(container, nowMs)) return { reason: crashReason(container), sinceMs }
  // Exit 0 is the end of a finite range of blocks (contract 4.1).
  if (state === 'finished') return exitCode === 0 ? null : { reason, sinceMs }
  if (state !== 'running' || !isOfThisRun(container, seen)) return null
  const { unansweredSinceMs, currentBlock } = seen
  if (unansweredSinceMs !== null && nowMs - unansweredSinceMs >= waitMs)
    return {
      reason: `Its metrics have not answered since ${isoTime(unansweredSinceMs)}.`,
      sinceMs: unansweredSinceMs,
    }
  const stalledAtMs = hasCaughtUp(seen, nowMs) ? null : stalledSince(seen, sinceMs, nowMs, waitMs)
  if (stalledAtMs === null) return null
  const head = Math.max(seen.totalBlocks, freshHead(seen, nowMs)?.headBlock ?? 0)
  return {
    reason: `It has been at block ${currentBlock} since ${isoTime(stalledAtMs)} while the chain went on to ${head}. Its log may say why; often its RPC endpoint does not answer.`,
    sinceMs: stalledAtMs,
  }
}

/** What was seen before the program was started anew says nothing of the new run. */
export const isOfThisRun = (container: SeenContainer, seen: SeenProcessor | undefined): seen is SeenProcessor =>
  seen !== undefined && seen.scrapedAtMs >= container.sinceMs

export const isoTime = (ms: number): string => new Date(ms).toISOString()

function unseen({ sinceMs }: SeenContainer, nowMs: number): Status {
  if (nowMs - sinceMs < unknownAfterMs) return { status: 'STARTING', reason: null, sinceMs }
  return {
    status: 'UNKNOWN',
    reason:
      'It runs, but shows no metrics on the port of PROCESSOR_PROMETHEUS_PORT. Its data source may not answer: see its log.',
    sinceMs,
  }
}

/** It says so, and nobody else knows better. */
const hasCaughtUp = (seen: SeenProcessor, nowMs: number): boolean => claimsCaughtUp(seen) && !isFarBehind(seen, nowMs)

/** Since when it has not moved, when that is long and the chain has moved meanwhile. Only what was seen counts, not what was missed. */
function stalledSince(seen: SeenProcessor, startedMs: number, nowMs: number, waitMs: number): number | null {
  const { progressedAtMs, scrapedAtMs } = seen
  const movedAtMs = headMovedAt(seen, nowMs)
  if (progressedAtMs === null || movedAtMs === null) return null
  const sinceMs = Math.max(progressedAtMs, startedMs)
  // What says that it is synced counts as idle; here somebody else knows better.
  const longestMs = claimsCaughtUp(seen) ? Infinity : seen.stillMs
  return movedAtMs > sinceMs && Math.min(scrapedAtMs - sinceMs, longestMs) >= waitMs ? sinceMs : null
}

/** A sentence: how it ended, and how often. */
export function crashReason({ reason, restarts, exitCode, isOutOfMemory }: SeenContainer): string {
  const ended = isOutOfMemory
    ? 'It ran out of memory'
    : (reason?.replace(/\.$/, '') ?? `It ended with exit code ${exitCode}`)
  return `${ended}. It was started anew ${restarts} times.`
}
