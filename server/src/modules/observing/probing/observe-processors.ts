import type { App } from '../../../app.ts'
import { nextBlockRate, unknownBlockRate } from '../../chains/index.ts'
import { claimsCaughtUp, headFreshMs, isAtHead } from '../progress/freshness.ts'
import type { HeadLookup } from '../sources/known-heads.ts'
import type { ContainerRow, ProcessorRow } from '../observe-store.ts'
import { scrape, type ProcessorMetrics } from './scrape.ts'
import type { ObservationCache } from '../observation-cache.ts'
import { workloadIdOf } from '../../manifest/index.ts'
import { isProcessor, metricsPort } from '../../containers.ts'
import { FairRounds } from './fair-rounds.ts'
import { allVersions, type Turn } from './turns.ts'

/** An unchanged row is rewritten at this interval, which shows that the processor is still observed. */
const renewMs = 30_000
/** The interval while the processor's node does not respond: shorter, so that users soon see the time without responses. */
const renewSilentMs = 5_000
/** Minimum interval at which responses of a processor's node are recorded. */
const minResponseIntervalMs = 10_000

/**
 * Scrapes the metrics of running processors and records changes. Processors whose current run has not served metrics yet are scraped in
 * every round, the others only in their turn.
 */
export async function observeProcessors(
  app: App,
  cache: ObservationCache,
  headOf: HeadLookup = () => null,
  nextTurn: (count: number) => Turn = () => allVersions,
  rounds = new FairRounds(app),
): Promise<void> {
  const running = [...cache.containers].filter(
    ([, row]) => row.state === 'running' && isProcessor({ name: row.container }),
  )
  const isTurn = nextTurn(running.length)
  const isNew = (key: string, { since }: ContainerRow) => {
    const scrapedAt = cache.processors.get(key)?.scrapedAt
    return !scrapedAt || scrapedAt < since
  }
  const toScrape = running.filter(([key, row]) => isTurn(row) || isNew(key, row))
  await rounds.run<ProcessorRow>(toScrape, {
    probe: async (key, row) => {
      const metrics = await scrapeOf(app, row)
      return nextRow(row, cache.processors.get(key), metrics, app.clock.now(), headOf(row))
    },
    record: (changes) => cache.recordProcessors(changes),
  })
}

async function scrapeOf({ directory }: App, { squidId, generation, container }: ContainerRow) {
  const endpoint = directory.endpoint(workloadIdOf(squidId, generation), container, metricsPort)
  return endpoint && (await scrape(endpoint))
}

/**
 * Returns the row to write after a scrape; null when there is nothing to record. `metrics` is null if the processor did not respond,
 * `knownHead` if the chain of the processor is unknown.
 */
export function nextRow(
  { squidId, generation, container }: Pick<ContainerRow, 'squidId' | 'generation' | 'container'>,
  before: ProcessorRow | undefined,
  metrics: ProcessorMetrics | null,
  now: Date,
  knownHead: ReturnType<HeadLookup> = null,
): ProcessorRow | null {
  const last = before && withoutFutureTimes(before, now)
  if (!metrics) return last && !last.unansweredSince ? { ...last, unansweredSince: now } : null
  const hasProgressed = metrics.currentBlock !== last?.currentBlock
  const hasHeadMoved = metrics.totalBlocks !== last?.totalBlocks
  const hasNodeResponded = hasRespondedSince(last, metrics)
  const sinceResponseMs = last?.answeredAt ? now.getTime() - last.answeredAt.getTime() : null
  const isNewResponse = hasNodeResponded && (sinceResponseMs === null || sinceResponseMs >= minResponseIntervalMs)
  const isSilent = sinceResponseMs !== null && sinceResponseMs >= 2 * minResponseIntervalMs
  const isFresh =
    last && last === before && now.getTime() - last.scrapedAt.getTime() < (isSilent ? renewSilentMs : renewMs)
  if (!hasProgressed && !hasHeadMoved && !isNewResponse && !last?.unansweredSince && isFresh) return null
  return {
    squidId,
    generation,
    processor: container,
    ...metrics,
    progressedAt: hasProgressed ? now : (last?.progressedAt ?? now),
    headMovedAt: hasHeadMoved ? now : (last?.headMovedAt ?? now),
    headRate: headRateAfter(last, metrics, now),
    chain: knownHead?.chain ?? null,
    caughtUpAt: claimsCaughtUp(metrics) ? now : (last?.caughtUpAt ?? null),
    stalledMs: hasProgressed || metrics.currentBlock >= metrics.totalBlocks ? 0 : stalledMsAfter(last, now),
    answeredAt: hasNodeResponded ? now : (last?.answeredAt ?? null),
    responseRate:
      hasNodeResponded && sinceResponseMs !== null && last && wasObserved(last, now)
        ? nextBlockRate(last.responseRate, sinceResponseMs, 1)
        : (last?.responseRate ?? unknownBlockRate),
    followsHead: last?.followsHead === true || isObservedAtHead(metrics, knownHead, now),
    scrapedAt: now,
    unansweredSince: null,
  }
}

/** If the clock of the host was set back, shifts the times of the row back by the same amount, so that none is in the future. */
function withoutFutureTimes(row: ProcessorRow, now: Date): ProcessorRow {
  const aheadMs = row.scrapedAt.getTime() - now.getTime()
  if (aheadMs <= 0) return row
  const shift = (at: Date) => new Date(at.getTime() - aheadMs)
  return {
    ...row,
    progressedAt: row.progressedAt && shift(row.progressedAt),
    headMovedAt: row.headMovedAt && shift(row.headMovedAt),
    caughtUpAt: row.caughtUpAt && shift(row.caughtUpAt),
    answeredAt: row.answeredAt && shift(row.answeredAt),
    unansweredSince: row.unansweredSince && shift(row.unansweredSince),
    scrapedAt: now,
  }
}

/** The maximum time between two scrapes that counts as observed. */
const maxScrapeGapMs = 60_000

const stalledMsAfter = (last: ProcessorRow | undefined, now: Date): number =>
  last ? last.stalledMs + Math.min(maxScrapeGapMs, now.getTime() - last.scrapedAt.getTime()) : 0

/** Whether the processor's node has responded since the last row. A count that starts again belongs to another run. */
function hasRespondedSince(last: ProcessorRow | undefined, { rpcRequests, rpcFailures }: ProcessorMetrics): boolean {
  const responses = (rpcRequests ?? 0) - (rpcFailures ?? 0)
  return responses > 0 && responses !== (last?.rpcRequests ?? 0) - (last?.rpcFailures ?? 0)
}

const wasObserved = ({ unansweredSince, scrapedAt }: ProcessorRow, now: Date): boolean =>
  !unansweredSince && now.getTime() - scrapedAt.getTime() <= maxScrapeGapMs

function headRateAfter(last: ProcessorRow | undefined, { totalBlocks }: ProcessorMetrics, now: Date) {
  if (!last?.headMovedAt) return unknownBlockRate
  const blocks = totalBlocks - last.totalBlocks
  return blocks > 0 && wasObserved(last, now)
    ? nextBlockRate(last.headRate, now.getTime() - last.headMovedAt.getTime(), blocks)
    : last.headRate
}

function isObservedAtHead({ totalBlocks }: ProcessorMetrics, knownHead: ReturnType<HeadLookup>, now: Date): boolean {
  if (!knownHead?.head) return false
  const isFresh = now.getTime() - knownHead.head.observedAt.getTime() <= headFreshMs
  return isFresh && isAtHead(totalBlocks, knownHead.head)
}
