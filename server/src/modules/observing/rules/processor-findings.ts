import { minutes } from '../../../clock.ts'
import type { Finding, Limits } from './findings.ts'
import {
  claimsCaughtUp,
  freshHead,
  headMovedAt,
  isFarBehind,
  lateBlocks,
  frozenAfterMs,
} from '../progress/freshness.ts'
import { isOfCurrentRun, readableTime, whyNotIndexing, whyStuck, whyUnknown } from '../progress/processor-status.ts'
import type { ObservedContainer, ObservedProcessor } from '../progress/parts-store.ts'

/** One that has not moved for this long is not just slow. */
const movingMs = minutes(1)
/** What is behind stays behind until it is clearly not. */
const clearLagShare = 0.8

/**
 * What is wrong with a processor's way through its chain. One cause is told once: a wrong claim comes before a stall, and what makes
 * no progress at all is not called slow.
 */
export function processorFindings(
  container: ObservedContainer,
  seen: ObservedProcessor | undefined,
  limits: Limits,
  nowMs: number,
): Finding[] {
  if (limits.SOURCE_SILENT !== null && container.state === 'running' && !isOfCurrentRun(container, seen)) {
    const waiting = whyNotIndexing(container, nowMs)
    const unknown = waiting ?? whyUnknown(container, nowMs)
    if (unknown) return [sourceSilent(container, { ...unknown, severity: waiting ? 'CRITICAL' : 'WARNING' })]
  }
  const isOfNow = seen !== undefined && isAnswering(container, seen)
  const isWrong = limits.WRONG_SYNCED !== null && isOfNow && claimsCaughtUp(seen) && isFarBehind(seen, nowMs)
  const stuck = limits.STALLED === null || isWrong ? null : whyStuck(container, seen, nowMs, minutes(limits.STALLED))
  const found: Finding[] = stuck ? [stalled(container, stuck)] : []
  if (!isOfNow) return found
  if (limits.WRONG_SYNCED !== null && (isWrong || isFarBehind(seen, nowMs)))
    found.push({ ...wrongSynced(seen, nowMs), isClear: isWrong })
  for (const one of frozenHead(container, seen, limits, nowMs)) found.push({ ...one, isClear: one.isClear && !stuck })
  for (const one of lagging(seen, limits, nowMs)) found.push({ ...one, isClear: one.isClear && !isWrong && !stuck })
  return found
}

/** What it says is of now. */
export const isAnswering = (container: ObservedContainer, seen: ObservedProcessor | undefined): boolean =>
  container.state === 'running' && isOfCurrentRun(container, seen) && seen.unansweredSinceMs === null

function stalled(
  { container, exitCode }: ObservedContainer,
  { reason, sinceMs }: NonNullable<ReturnType<typeof whyStuck>>,
): Finding {
  return {
    kind: 'STALLED',
    severity: 'CRITICAL',
    container,
    label: `${container} is stuck`,
    reason: reason ?? `It ended with code ${exitCode}.`,
    sinceMs,
    holdMs: 0,
    isClear: true,
  }
}

function sourceSilent(
  { container }: ObservedContainer,
  { reason, sinceMs, severity }: Pick<Finding, 'severity'> & { reason: string; sinceMs: number },
): Finding {
  return {
    kind: 'SOURCE_SILENT',
    severity,
    container,
    label: `${container} does not index`,
    reason,
    sinceMs,
    holdMs: 0,
    isClear: true,
  }
}

function wrongSynced(seen: ObservedProcessor, nowMs: number): Finding {
  const head = freshHead(seen, nowMs)?.headBlock ?? seen.totalBlocks
  return {
    kind: 'WRONG_SYNCED',
    severity: 'CRITICAL',
    container: seen.processor,
    label: `${seen.processor} only seems to be synced`,
    reason: `It says that it has caught up at block ${seen.currentBlock}, but its chain is at block ${head}. Its data source may have stopped: see its log, and try another one.`,
    sinceMs: null,
    holdMs: minutes(1),
    isClear: true,
  }
}

function frozenHead(container: ObservedContainer, seen: ObservedProcessor, limits: Limits, nowMs: number): Finding[] {
  const movedAtMs = headMovedAt(seen, nowMs)
  const restMs = frozenAfterMs(seen, nowMs)
  if (limits.FROZEN_HEAD === null || movedAtMs === null || restMs === null) return []
  const sinceMs = Math.max(movedAtMs, container.sinceMs)
  // Only what was seen counts, not what was missed.
  if (seen.scrapedAtMs - sinceMs < Math.max(minutes(limits.FROZEN_HEAD), restMs)) return []
  return [
    {
      kind: 'FROZEN_HEAD',
      severity: 'WARNING',
      container: container.container,
      label: `${container.container} sees no new blocks`,
      reason: `The head of its chain has been at block ${seen.totalBlocks} since ${readableTime(movedAtMs)}. Either the chain rests or the data source does: see the log, and try another source.`,
      sinceMs: movedAtMs,
      holdMs: 0,
      isClear: true,
    },
  ]
}

function lagging(seen: ObservedProcessor, limits: Limits, nowMs: number): Finding[] {
  const most = limits.LAGGING
  if (most === null || seen.caughtUpAtMs === null) return []
  const late = lateBlocks(seen, nowMs)
  if (late <= most * clearLagShare) return []
  const isMoving = seen.progressedAtMs !== null && nowMs - seen.progressedAtMs < movingMs
  return [
    {
      kind: 'LAGGING',
      severity: 'WARNING',
      container: seen.processor,
      label: `${seen.processor} is behind its chain`,
      reason: `It is ${late} blocks late. It may need a larger profile, or a faster RPC endpoint.`,
      sinceMs: null,
      holdMs: minutes(2),
      isClear: late > most && (isMoving || limits.STALLED === null),
    },
  ]
}
