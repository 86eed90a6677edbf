import { minutes } from '../../clock.ts'
import { nextBlockRate, unknownBlockRate, type BlockRate } from './block-rate.ts'

/** Head of a chain, as seen by its nodes. */
export type ChainHead = {
  chain: string
  headBlock: number
  /** Null when no node reports finality. */
  finalBlock: number | null
  movedAt: Date
  pace: BlockRate
  observedAt: Date
}

/** Nodes disagree by some blocks; a chain this much lower was reset. */
const toleratedBlocks = 100
/** Rises across a longer gap in observations are not used for the rate. */
const watchedMs = minutes(1)

/** Updates the head after an observation. */
export function nextHead(
  last: ChainHead | undefined,
  { chain, headBlock, finalBlock }: Pick<ChainHead, 'chain' | 'headBlock' | 'finalBlock'>,
  now: Date,
): ChainHead {
  if (!last || headBlock < last.headBlock - toleratedBlocks)
    return { chain, headBlock, finalBlock, movedAt: now, pace: unknownBlockRate, observedAt: now }
  const blocks = headBlock - last.headBlock
  if (blocks <= 0) return { ...last, finalBlock: finalBlock ?? last.finalBlock, observedAt: now }
  const wasWatched = now.getTime() - last.observedAt.getTime() <= watchedMs
  const pace = wasWatched ? nextBlockRate(last.pace, now.getTime() - last.movedAt.getTime(), blocks) : last.pace
  return { chain, headBlock, finalBlock: finalBlock ?? last.finalBlock, movedAt: now, pace, observedAt: now }
}
