import type { BlockRate } from '../../chains/index.ts'
import { frozenAfterMs, type ObservedHead } from './freshness.ts'

/** The signs that show whether the data source of a processor responds. */
export type SourceSigns = {
  /** When the processor's metrics were last scraped successfully. */
  scrapedAtMs: number
  /** Since when the processor's metrics have not responded; null if they respond. */
  unresponsiveSinceMs: number | null
  /** When the processor's RPC node last responded, accurate to ten seconds; null if its metrics do not count requests. */
  nodeRespondedAtMs: number | null
  /** The usual interval between responses of the node: each response counts as a move of one block. */
  nodeResponseRate: BlockRate
  /** When the head last moved according to the processor's metrics. */
  headMovedAtMs: number | null
  headRate: BlockRate
  /** Null if no gateway has ever polled the chain. */
  head: ObservedHead | null
}

/** `sign` is the missing sign: metrics of the processor, responses of its node, responses of the chain's nodes to Shoal, or new blocks. */
export type Silence = { sinceMs: number; sign: 'metrics' | 'requests' | 'nodes' | 'head' }

/** The SDK polls the head every 5 to 20 seconds, unless a squid sets another interval. */
const minSilenceMs = 40_000
/** A node that is polled rarely is silent after this many times its usual interval. */
const silenceFactor = 3
/** With fewer responses, the usual interval is not reliable. */
const minResponses = 4

/**
 * Returns since when the head of a processor's chain is unknown although the head was requested; null while the head is known, or if
 * that cannot be determined. Periods without observations do not count as silence.
 */
export function silenceOf(signs: SourceSigns, nowMs: number): Silence | null {
  const { scrapedAtMs, unresponsiveSinceMs, nodeRespondedAtMs, nodeResponseRate, headMovedAtMs, head } = signs
  if (unresponsiveSinceMs !== null) return silenceSince(unresponsiveSinceMs, 'metrics', nowMs, minSilenceMs)
  const countsResponses = nodeRespondedAtMs !== null && nodeResponseRate.moves >= minResponses
  const nodeSilence = countsResponses
    ? silenceSince(
        nodeRespondedAtMs,
        'requests',
        scrapedAtMs,
        Math.max(minSilenceMs, nodeResponseRate.msPerMove * silenceFactor),
      )
    : null
  // Checked even if the processor's requests succeed, since the gateway may respond from its cache.
  const chainSilence = head && silenceSince(head.observedAtMs, 'nodes', scrapedAtMs, minSilenceMs)
  if (nodeSilence || chainSilence || countsResponses || head) return nodeSilence ?? chainSilence
  const frozenMs = frozenAfterMs(signs, nowMs)
  if (headMovedAtMs === null || frozenMs === null) return null
  return silenceSince(headMovedAtMs, 'head', scrapedAtMs, Math.max(minSilenceMs, frozenMs))
}

const silenceSince = (
  sinceMs: number,
  sign: Silence['sign'],
  observedAtMs: number,
  timeoutMs: number,
): Silence | null => (observedAtMs - sinceMs >= timeoutMs ? { sinceMs, sign } : null)
