import { minutes } from '../../../clock.ts'
import { msPerBlockOf, msPerMoveOf, type BlockRate } from '../../chains/index.ts'

/** The head of a chain as shown by nodes other than the processor's own data source. */
export type ObservedHead = {
  headBlock: number
  finalBlock: number | null
  movedAtMs: number
  blockRate: BlockRate
  observedAtMs: number
}

/** The input of the freshness checks. */
export type FreshnessInput = {
  currentBlock: number
  totalBlocks: number
  etaSeconds: number | null
  followsHead: boolean
  headRate: BlockRate
  /** The independent head of the chain, if there is one. */
  head: ObservedHead | null
}

/** A chain may grow by a few blocks between two observations. */
const caughtUpMarginBlocks = 5
/** The SDK polls the head only every 10 to 20 seconds, so it may report that it has caught up although a fast chain is this far ahead. */
const fastChainMarginBlocks = 100
/** A processor is far behind if it lags by the blocks that the chain produces in this time. */
const farBehindMs = minutes(2)
const minFarBehindBlocks = 10
/** Greater than the depth of any reorganization. A processor that waits for final blocks may be this far behind and still be up to date. */
const finalityBlocks = 256
/** A head is frozen if it has not moved for this many times its usual interval. */
const frozenFactor = 20
/** An independent head that is older than this is ignored. */
export const headFreshMs = 30_000

/** Whether the processor's own metrics report that it has caught up. */
export function claimsCaughtUp(input: Pick<FreshnessInput, 'currentBlock' | 'totalBlocks' | 'etaSeconds'>): boolean {
  const { currentBlock, totalBlocks, etaSeconds } = input
  const behind = totalBlocks - currentBlock
  if (currentBlock < 0 || totalBlocks <= 0) return false
  return behind <= caughtUpMarginBlocks || (etaSeconds === 0 && behind <= fastChainMarginBlocks)
}

/** Returns the number of blocks behind the head above which a processor is far behind, at this rate of the chain. */
export function farBehindBlocks(blockRate: BlockRate): number {
  const msPerBlock = msPerBlockOf(blockRate)
  return msPerBlock === null ? fastChainMarginBlocks : Math.max(minFarBehindBlocks, Math.ceil(farBehindMs / msPerBlock))
}

/** The independent head, unless it is outdated. */
export const freshHead = ({ head }: Pick<FreshnessInput, 'head'>, nowMs: number): ObservedHead | null =>
  head && nowMs - head.observedAtMs <= headFreshMs ? head : null

/**
 * Returns how many blocks a processor is behind, compared with the independent head if there is one. A processor that was never
 * observed at the head may be waiting for final blocks, so only final blocks count.
 */
export function lateBlocks(input: FreshnessInput, nowMs: number): number {
  const { currentBlock, totalBlocks, followsHead } = input
  const independentHead = freshHead(input, nowMs)
  if (!independentHead) return Math.max(0, totalBlocks - currentBlock)
  const { headBlock } = independentHead
  const dueBlock = followsHead
    ? headBlock
    : Math.min(headBlock - finalityBlocks, independentHead.finalBlock ?? headBlock)
  return Math.max(0, dueBlock - currentBlock)
}

/** Whether a processor is far behind the independent head, regardless of its own metrics. False without such a head. */
export function isFarBehind(input: FreshnessInput, nowMs: number): boolean {
  const independentHead = freshHead(input, nowMs)
  return independentHead !== null && lateBlocks(input, nowMs) > farBehindBlocks(independentHead.blockRate)
}

/** Whether the processor's data source is at the independent head. False until the rate of the chain is known. */
export const isAtHead = (
  totalBlocks: number,
  { headBlock, blockRate }: Pick<ObservedHead, 'headBlock' | 'blockRate'>,
): boolean => msPerBlockOf(blockRate) !== null && headBlock - totalBlocks <= farBehindBlocks(blockRate)

/** Returns when the head last moved, as observed by the processor or a gateway. */
export function headMovedAt(
  input: Pick<FreshnessInput, 'head'> & { headMovedAtMs: number | null },
  nowMs: number,
): number | null {
  const independentMs = freshHead(input, nowMs)?.movedAtMs ?? null
  if (input.headMovedAtMs === null || independentMs === null) return input.headMovedAtMs ?? independentMs
  return Math.max(input.headMovedAtMs, independentMs)
}

/** Returns the milliseconds without a new block after which the head counts as frozen. Null until its usual rate is known. */
export function frozenAfterMs(input: Pick<FreshnessInput, 'head' | 'headRate'>, nowMs: number): number | null {
  const intervalsMs = [freshHead(input, nowMs)?.blockRate, input.headRate].flatMap((blockRate) =>
    blockRate ? [msPerMoveOf(blockRate)] : [],
  )
  const knownMs = intervalsMs.filter((ms) => ms !== null)
  return knownMs.length > 0 ? Math.max(...knownMs) * frozenFactor : null
}
