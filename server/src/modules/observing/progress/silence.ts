import type { BlockRate } from '../../rpc/index.ts'
import { frozenAfterMs, type ObservedHead } from './freshness.ts'

/** The signs of whether the data source of a processor responds. */
export type SourceSigns = {
  /** When its metrics last answered. */
  scrapedAtMs: number
  unansweredSinceMs: number | null
  /** When its RPC node last answered it, exact to ten seconds; null where it counts no requests. */
  answeredAtMs: number | null
  /** How often its node usually answers it. */
  answerPace: BlockRate
  headMovedAtMs: number | null
  headPace: BlockRate
  /** Null when no gateway has ever looked at its chain. */
  head: ObservedHead | null
}

/** `sign`: what is missing, answers of the processor itself, of its node to it, of its chain's nodes to Shoal, or new blocks. */
export type Silence = { sinceMs: number; sign: 'metrics' | 'requests' | 'nodes' | 'head' }

/** The SDK asks for the head every 5 to 20 seconds, unless a squid says otherwise. */
const leastMs = 40_000
/** A node that is asked seldom may be silent for this many times as long as it usually is. */
const frozenFactor = 3
/** Fewer answers say little of how often there are some. */
const answersNeeded = 4

/**
 * Since when the head of the processor's chain is unknown although it was requested; null while it is known, or if that cannot be
 * determined. Periods without observations do not count as silence.
 */
export function silenceOf(of: SourceSigns, nowMs: number): Silence | null {
  const { scrapedAtMs, unansweredSinceMs, answeredAtMs, answerPace, headMovedAtMs, head } = of
  if (unansweredSinceMs !== null) return silentFrom(unansweredSinceMs, 'metrics', nowMs, leastMs)
  const isCounting = answeredAtMs !== null && answerPace.moves >= answersNeeded
  const unanswered = isCounting
    ? silentFrom(answeredAtMs, 'requests', scrapedAtMs, Math.max(leastMs, answerPace.msPerMove * frozenFactor))
    : null
  // A gateway may still answer from what it knows.
  const unseen = head && silentFrom(head.observedAtMs, 'nodes', scrapedAtMs, leastMs)
  if (unanswered || unseen || isCounting || head) return unanswered ?? unseen
  const restMs = frozenAfterMs(of, nowMs)
  if (headMovedAtMs === null || restMs === null) return null
  return silentFrom(headMovedAtMs, 'head', scrapedAtMs, Math.max(leastMs, restMs))
}

const silentFrom = (sinceMs: number, sign: Silence['sign'], seenAtMs: number, timeoutMs: number): Silence | null =>
  seenAtMs - sinceMs >= timeoutMs ? { sinceMs, sign } : null
