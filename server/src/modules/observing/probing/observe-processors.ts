import type { App } from '../../../app.ts'
import { mapConcurrently } from '@shoal/runtime'
import { nextBlockRate, unknownBlockRate } from '../../rpc/index.ts'
import { claimsCaughtUp, headFreshMs, isAtHead } from '../progress/freshness.ts'
import type { HeadLookup } from '../sources/known-heads.ts'
import type { ContainerRow, ProcessorRow } from '../observe-store.ts'
import { scrape, type ProcessorMetrics } from './scrape.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { isProcessor, metricsPort, workloadIdOf } from '../../manifest/index.ts'

/** An unchanged row is written again after this long, which shows that the processor is still observed. */
const renewMs = 30_000
/** The same while its node does not respond, so that this is shown soon. */
const renewSilentMs = 5_000
/** Minimum interval at which responses of its node are recorded. */
const answersMs = 10_000

const maxConcurrent = 64

/** Scrapes the metrics of every running processor and records changes. */
export async function observeProcessors(
  app: App,
  seen: ObservationCache,
  headOf: HeadLookup = () => null,
): Promise<void> {
  const running = [...seen.containers].filter(
    ([, row]) => row.state === 'running' && isProcessor({ name: row.container }),
  )
  const now = app.clock.now()
  const news = new Map<string, ProcessorRow>()
  await mapConcurrently(running, maxConcurrent, async ([key, row]) => {
    const next = nextRow(row, seen.processors.get(key), await scrapeOf(app, row), now, headOf(row))
    if (next) news.set(key, next)
  })
  await seen.recordProcessors(news)
}

async function scrapeOf({ directory }: App, { squidId, generation, container }: ContainerRow) {
  const endpoint = directory.endpoint(workloadIdOf(squidId, generation), container, metricsPort)
  return endpoint && (await scrape(endpoint))
}

/** The row to write after a scrape; null when there is nothing to record. */
export function nextRow(
  { squidId, generation, container }: Pick<ContainerRow, 'squidId' | 'generation' | 'container'>,
  before: ProcessorRow | undefined,
  metrics: ProcessorMetrics | null,
  now: Date,
  known: ReturnType<HeadLookup> = null,
): ProcessorRow | null {
  const last = before && notInFuture(before, now)
  if (!metrics) return last && !last.unansweredSince ? { ...last, unansweredSince: now } : null
  const hasProgressed = metrics.currentBlock !== last?.currentBlock
  const hasHeadMoved = metrics.totalBlocks !== last?.totalBlocks
  const isAnswered = isAnsweredSince(last, metrics)
  const answeredMs = last?.answeredAt ? now.getTime() - last.answeredAt.getTime() : null
  const isNewAnswer = isAnswered && (answeredMs === null || answeredMs >= answersMs)
  const isSilent = answeredMs !== null && answeredMs >= 2 * answersMs
  const isFresh =
    last && last === before && now.getTime() - last.scrapedAt.getTime() < (isSilent ? renewSilentMs : renewMs)
  if (!hasProgressed && !hasHeadMoved && !isNewAnswer && !last?.unansweredSince && isFresh) return null
  return {
    squidId,
    generation,
    processor: container,
    ...metrics,
    progressedAt: hasProgressed ? now : (last?.progressedAt ?? now),
    headMovedAt: hasHeadMoved ? now : (last?.headMovedAt ?? now),
    headPace: paceAfter(last, metrics, now),
    chain: known?.chain ?? null,
    caughtUpAt: claimsCaughtUp(metrics) ? now : (last?.caughtUpAt ?? null),
    stillMs: hasProgressed || metrics.currentBlock >= metrics.totalBlocks ? 0 : stalledMsAfter(last, now),
    answeredAt: isAnswered ? now : (last?.answeredAt ?? null),
    answerPace:
      isAnswered && answeredMs !== null && last && wasWatched(last, now)
        ? nextBlockRate(last.answerPace, answeredMs, 1)
        : (last?.answerPace ?? unknownBlockRate),
    followsHead: last?.followsHead === true || isSeenAtHead(metrics, known, now),
    scrapedAt: now,
    unansweredSince: null,
  }
}

/** Moves the times of the row back if the clock of the host was set back, so that none is in the future. */
function notInFuture(row: ProcessorRow, now: Date): ProcessorRow {
  const aheadMs = row.scrapedAt.getTime() - now.getTime()
  if (aheadMs <= 0) return row
  const back = (at: Date) => new Date(at.getTime() - aheadMs)
  return {
    ...row,
    progressedAt: row.progressedAt && back(row.progressedAt),
    headMovedAt: row.headMovedAt && back(row.headMovedAt),
    caughtUpAt: row.caughtUpAt && back(row.caughtUpAt),
    answeredAt: row.answeredAt && back(row.answeredAt),
    unansweredSince: row.unansweredSince && back(row.unansweredSince),
    scrapedAt: now,
  }
}

/** Scrapes further apart than this do not show what happened in between. */
const watchedMs = 60_000

const stalledMsAfter = (last: ProcessorRow | undefined, now: Date): number =>
  last ? last.stillMs + Math.min(watchedMs, now.getTime() - last.scrapedAt.getTime()) : 0

/** Whether its node has responded since the last row. A count that restarts belongs to another run. */
function isAnsweredSince(last: ProcessorRow | undefined, { rpcRequests, rpcFailures }: ProcessorMetrics): boolean {
  const answers = (rpcRequests ?? 0) - (rpcFailures ?? 0)
  return answers > 0 && answers !== (last?.rpcRequests ?? 0) - (last?.rpcFailures ?? 0)
}

const wasWatched = ({ unansweredSince, scrapedAt }: ProcessorRow, now: Date): boolean =>
  !unansweredSince && now.getTime() - scrapedAt.getTime() <= watchedMs

function paceAfter(last: ProcessorRow | undefined, { totalBlocks }: ProcessorMetrics, now: Date) {
  if (!last?.headMovedAt) return unknownBlockRate
  const blocks = totalBlocks - last.totalBlocks
  return blocks > 0 && wasWatched(last, now)
    ? nextBlockRate(last.headPace, now.getTime() - last.headMovedAt.getTime(), blocks)
    : last.headPace
}

function isSeenAtHead({ totalBlocks }: ProcessorMetrics, known: ReturnType<HeadLookup>, now: Date): boolean {
  if (!known?.head) return false
  const isFresh = now.getTime() - known.head.observedAt.getTime() <= headFreshMs
  return isFresh && isAtHead(totalBlocks, known.head)
}
