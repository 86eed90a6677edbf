import type { Processor } from '@shoal/contract'
import { msPerBlockOf } from '../../chains/index.ts'
import { freshHead, type FreshnessInput } from './freshness.ts'
import { silenceOf, type SourceSigns } from './silence.ts'

/**
 * Returns how far a processor is behind the head of its chain, for display; null before its first block. While the head is unknown,
 * the chain is assumed to grow at its usual rate.
 */
export function lagOf(input: FreshnessInput & SourceSigns, nowMs: number): Processor['lag'] {
  const { currentBlock, totalBlocks, headRate } = input
  if (currentBlock < 0 || totalBlocks <= 0) return null
  const independentHead = freshHead(input, nowMs)
  // The processor's node may have a block that the other nodes do not have yet.
  const isAhead = independentHead === null || totalBlocks > independentHead.headBlock
  const head = isAhead ? totalBlocks : independentHead.headBlock
  const msPerBlock = (independentHead && msPerBlockOf(independentHead.blockRate)) ?? msPerBlockOf(headRate)
  const silence = independentHead === null ? silenceOf(input, nowMs) : null
  const missedMs = silence ? nowMs - silence.sinceMs : 0
  const blocks = Math.max(0, head - currentBlock) + (msPerBlock ? Math.floor(missedMs / msPerBlock) : 0)
  const knownMs = blocks === 0 ? 0 : msPerBlock === null ? null : blocks * msPerBlock
  const ms = silence ? Math.max(knownMs ?? 0, missedMs) : knownMs
  return {
    blocks,
    seconds: ms === null ? null : Math.round(ms / 1000),
    head,
    source: independentHead ? 'rpc' : 'processor',
  }
}
