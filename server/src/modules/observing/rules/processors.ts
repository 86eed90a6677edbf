import { minutes } from '../../../clock.ts'
import {
  claimsCaughtUp,
  freshHead,
  frozenAfterMs,
  headMovedAt,
  isFarBehind,
  lateBlocks,
} from '../progress/freshness.ts'
import type { ObservedContainer, ObservedProcessor } from '../progress/details-store.ts'
import {
  isOfCurrentRun,
  readableTime,
  notIndexingReason,
  stuckReason,
  noMetricsReason,
} from '../progress/processor-status.ts'
import type { Thresholds, ProcessorFacts, RuleOf } from './rule.ts'

/** A processor that made progress within this time is slow, not stuck. */
const recentProgressMs = minutes(1)
/** An open alert for lag ends below this share of the threshold. */
const clearLagShare = 0.8

/**
 * Returns the facts of one processor. Only one rule reports each cause: a processor that wrongly claims to be synced is not reported as
 * stalled, too, and a processor without progress is not reported as slow, too.
 */
export function processorFacts(
  container: ObservedContainer,
  metrics: ObservedProcessor | undefined,
  thresholds: Thresholds,
  nowMs: number,
): ProcessorFacts {
  const current = metrics !== undefined && isResponding(container, metrics) ? metrics : null
  const notIndexing = thresholds.SOURCE_SILENT === null ? null : notIndexingOf(container, metrics, nowMs)
  const isWronglySynced =
    thresholds.WRONG_SYNCED !== null && current !== null && claimsCaughtUp(current) && isFarBehind(current, nowMs)
  const stuck =
    thresholds.STALLED === null || isWronglySynced || notIndexing
      ? null
      : stuckReason(container, metrics, nowMs, minutes(thresholds.STALLED))
  return { container, current, notIndexing, isWronglySynced, stuck, isStallRuleOn: thresholds.STALLED !== null }
}

/** Whether a processor is running and its metrics respond. */
export const isResponding = (container: ObservedContainer, metrics: ObservedProcessor | undefined): boolean =>
  container.state === 'running' && isOfCurrentRun(container, metrics) && metrics.unresponsiveSinceMs === null

function notIndexingOf(
  container: ObservedContainer,
  metrics: ObservedProcessor | undefined,
  nowMs: number,
): ProcessorFacts['notIndexing'] {
  if (container.state !== 'running' || isOfCurrentRun(container, metrics)) return null
  const waiting = notIndexingReason(container, nowMs)
  if (waiting) return { ...waiting, severity: 'CRITICAL' }
  const unknown = noMetricsReason(container, nowMs)
  return unknown && { ...unknown, severity: 'WARNING' }
}

const sourceSilent: RuleOf<'processor'> = {
  title: 'Data source silent',
  explanation: 'A processor runs but does not begin to index, because its data source does not respond.',
  threshold: null,
  opensWhen:
    "A processor runs but has not begun to index: it exposes no metrics two minutes after its start. If the program does not log in the SDK's format, this is only a warning, after ten minutes. The alert names the data source if it is known.",
  appliesTo: 'processor',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ container: { container }, notIndexing }) =>
    notIndexing ? [{ ...notIndexing, container, label: `${container} does not index` }] : [],
}

/** Despite its kind, this rule is about processors with the status STUCK, not STALLED (spec 4). */
const stalled: RuleOf<'processor'> = {
  title: 'No progress',
  explanation:
    'A processor makes no progress although its chain continues, or its metrics or its data source have stopped responding.',
  threshold: { unit: 'minutes', initial: 5, min: 1, max: 1440 },
  opensWhen:
    'A processor was observed without progress for 5 minutes while it had work to do, or its data source or metrics have not responded for as long, or it ended with an error and will not restart. The console shows the rule as “No progress”. The status of such a processor is `STUCK`; the status `STALLED` [means something else](#silent-data-sources).',
  appliesTo: 'processor',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ container: { container, exitCode }, stuck }) =>
    stuck
      ? [
          {
            severity: 'CRITICAL',
            container,
            label: `${container} is stuck`,
            reason: stuck.reason ?? `It ended with code ${exitCode}.`,
            sinceMs: stuck.sinceMs,
          },
        ]
      : [],
}

const wronglySynced: RuleOf<'processor'> = {
  title: 'Falsely reported as synced',
  explanation:
    'A processor reports that it has caught up, but the independently observed head of its chain is far ahead.',
  threshold: null,
  opensWhen:
    'A processor reports that it has caught up, but the [independent head](#freshness) has been far ahead for a minute. "Far" is the number of blocks that the chain produces in two minutes, but at least 10.',
  appliesTo: 'processor',
  holdMs: minutes(1),
  clearMs: minutes(1),
  isWarning: true,
  find: ({ current, isWronglySynced }, _, nowMs) => {
    if (!current || !isFarBehind(current, nowMs)) return []
    const head = freshHead(current, nowMs)?.headBlock ?? current.totalBlocks
    return [
      {
        severity: 'CRITICAL',
        container: current.processor,
        label: `${current.processor} only seems to be synced`,
        reason: `It reports that it has caught up at block ${current.currentBlock}, but its chain is at block ${head}. Its data source may have stopped: see its log, and try another one.`,
        canOpenAlert: isWronglySynced,
      },
    ]
  },
}

const frozenHead: RuleOf<'processor'> = {
  title: 'Frozen head',
  explanation: 'The data source of a processor shows no new blocks.',
  threshold: { unit: 'minutes', initial: 10, min: 2, max: 1440 },
  opensWhen:
    "Neither a processor's data source nor the independent head has shown a new block for 10 minutes, and for 20 times the usual block interval of this chain.",
  appliesTo: 'processor',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: true,
  find: ({ container, current, stuck }, thresholdMinutes, nowMs) => {
    if (!current) return []
    const movedAtMs = headMovedAt(current, nowMs)
    const frozenMs = frozenAfterMs(current, nowMs)
    if (movedAtMs === null || frozenMs === null) return []
    const sinceMs = Math.max(movedAtMs, container.sinceMs)
    // Only time with observations counts.
    if (current.scrapedAtMs - sinceMs < Math.max(minutes(thresholdMinutes), frozenMs)) return []
    return [
      {
        severity: 'WARNING',
        container: container.container,
        label: `${container.container} receives no new blocks`,
        reason: `The head of its chain has been at block ${current.totalBlocks} since ${readableTime(movedAtMs)}. Either the chain has paused or the data source has stopped: see the log, and try another source.`,
        sinceMs: movedAtMs,
        canOpenAlert: !stuck,
      },
    ]
  },
}

const lagging: RuleOf<'processor'> = {
  title: 'Behind the chain',
  explanation:
    'A processor that had caught up is behind the head of its chain by more blocks than this, for two minutes.',
  threshold: { unit: 'blocks', initial: 500, min: 10, max: 10_000_000 },
  opensWhen:
    'A processor that had caught up and still advances is more than 500 blocks behind, by [the lag of alerts](#freshness), for two minutes.',
  appliesTo: 'processor',
  holdMs: minutes(2),
  clearMs: minutes(2),
  isWarning: false,
  find: ({ current, isWronglySynced, stuck, isStallRuleOn }, maxBlocks, nowMs) => {
    if (!current || current.caughtUpAtMs === null) return []
    const late = lateBlocks(current, nowMs)
    if (late <= maxBlocks * clearLagShare) return []
    const isMoving = current.progressedAtMs !== null && nowMs - current.progressedAtMs < recentProgressMs
    return [
      {
        severity: 'WARNING',
        container: current.processor,
        label: `${current.processor} is behind its chain`,
        reason: `It is ${late} blocks late. It may need a larger profile, or a faster RPC endpoint.`,
        canOpenAlert: late > maxBlocks && (isMoving || !isStallRuleOn) && !isWronglySynced && !stuck,
      },
    ]
  },
}

export const processorRules = {
  SOURCE_SILENT: sourceSilent,
  STALLED: stalled,
  LAGGING: lagging,
  WRONG_SYNCED: wronglySynced,
  FROZEN_HEAD: frozenHead,
}
