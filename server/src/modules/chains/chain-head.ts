import { minutes } from '../../clock.ts'
import { nextBlockRate, unknownBlockRate, type BlockRate } from './block-rate.ts'

/** The head of a chain, as reported by its nodes. */
export type ChainHead = {
  chain: string
  headBlock: number
  /** Null when no node reports finality. */
  finalBlock: number | null
  /** When `headBlock` last rose. */
  movedAt: Date
  blockRate: BlockRate
  observedAt: Date
}

/** Nodes may differ by some blocks. A head that falls by more than this number means that the chain was reset. */
const toleratedBlocks = 100
/** The block rate ignores a move after a longer gap in observations. */
const maxGapMs = minutes(1)

/** Returns the head after an observation at `now`; `last` is the head before, undefined for the first observation. */
export function nextHead(
  last: ChainHead | undefined,
  { chain, headBlock, finalBlock }: Pick<ChainHead, 'chain' | 'headBlock' | 'finalBlock'>,
  now: Date,
): ChainHead {
  if (!last || headBlock < last.headBlock - toleratedBlocks)
    return { chain, headBlock, finalBlock, movedAt: now, blockRate: unknownBlockRate, observedAt: now }
  const blocks = headBlock - last.headBlock
  if (blocks <= 0) return { ...last, finalBlock: finalBlock ?? last.finalBlock, observedAt: now }
  const isContinuous = now.getTime() - last.observedAt.getTime() <= maxGapMs
  const blockRate = isContinuous
    ? nextBlockRate(last.blockRate, now.getTime() - last.movedAt.getTime(), blocks)
    : last.blockRate
  return { chain, headBlock, finalBlock: finalBlock ?? last.finalBlock, movedAt: now, blockRate, observedAt: now }
}
