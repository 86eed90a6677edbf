import type { BlockRate } from '../../rpc/index.ts'
import { frozenAfterMs, type ObservedHead } from './freshness.ts'

/** The signs of whether the data source of a processor responds. */
export type SourceSigns = {
  /** When its metrics were last scraped successfully. */
  scrapedAtMs: number
  unansweredSinceMs: number | null
  /** When its RPC node last responded, to within ten seconds; null if its metrics do not count requests. */
  answeredAtMs: number | null
  /** The usual interval between responses of its node. */
  answerPace: BlockRate
  headMovedAtMs: number | null
  headPace: BlockRate
  /** Null when no gateway has ever polled its chain. */
  head: ObservedHead | null
}

/** `sign` is the missing sign: metrics of the processor, responses of its node, responses of the chain's nodes to Shoal, or new blocks. */
export type Silence = { sinceMs: number; sign: 'metrics' | 'requests' | 'nodes' | 'head' }

/** The SDK polls the head every 5 to 20 seconds, unless a squid sets another interval. */
const minSilenceMs = 40_000
/** A node that is polled rarely counts as silent after this many times its usual interval. */
const frozenFactor = 3
/** With fewer responses the usual interval is not known well enough. */
const minAnswers = 4

/**
 * Since when the head of the processor's chain is unknown although it was requested; null while it is known, or if that cannot be
 * determined. Periods without observations do not count as silence.
 */
export function silenceOf(of: SourceSigns, nowMs: number): Silence | null {
  const { scrapedAtMs, unansweredSinceMs, answeredAtMs, answerPace, headMovedAtMs, head } = of
  if (unansweredSinceMs !== null) return silentFrom(unansweredSinceMs, 'metrics', nowMs, minSilenceMs)
  const isCounting = answeredAtMs !== null && answerPace.moves >= minAnswers
  const unanswered = isCounting
    ? silentFrom(answeredAtMs, 'requests', scrapedAtMs, Math.max(minSilenceMs, answerPace.msPerMove * frozenFactor))
    : null
  // Checked even if the processor's requests succeed, since the gateway may respond from its cache.
  const unseen = head && silentFrom(head.observedAtMs, 'nodes', scrapedAtMs, minSilenceMs)
  if (unanswered || unseen || isCounting || head) return unanswered ?? unseen
  const restMs = frozenAfterMs(of, nowMs)
  if (headMovedAtMs === null || restMs === null) return null
  return silentFrom(headMovedAtMs, 'head', scrapedAtMs, Math.max(minSilenceMs, restMs))
}

const silentFrom = (sinceMs: number, sign: Silence['sign'], seenAtMs: number, timeoutMs: number): Silence | null =>
  seenAtMs - sinceMs >= timeoutMs ? { sinceMs, sign } : null
