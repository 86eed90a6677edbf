import { minutes } from '../../../clock.ts'
import { msPerBlockOf, msPerMoveOf, type BlockRate } from '../../rpc/index.ts'

/** The head of a chain as shown by nodes other than the processor's own data source. */
export type ObservedHead = {
  headBlock: number
  finalBlock: number | null
  movedAtMs: number
  pace: BlockRate
  observedAtMs: number
}

/** The input of the checks of freshness. */
export type FreshnessInput = {
  currentBlock: number
  totalBlocks: number
  etaSeconds: number | null
  followsHead: boolean
  headPace: BlockRate
  /** Null without an independent head. */
  head: ObservedHead | null
}

/** A chain may grow by a few blocks between two observations. */
const fewBlocks = 5
/** The SDK polls the head only every 10 to 20 seconds, so it reports that it has caught up although fast chains are this far ahead (contract 7). */
const blocksOfFastChain = 100
/** A processor that is further behind, measured in block times of the chain, is far behind. */
const farBehindMs = minutes(2)
const minFarBehindBlocks = 10
/** Deeper than any reorganization: a processor that waits for final blocks may be this far behind and still be up to date. */
const finalityBlocks = 256
/** A head that has not moved for this many times its usual interval is frozen. */
const frozenFactor = 20
/** An older head is ignored. */
export const headFreshMs = 30_000

/** Whether its own metrics report that it has caught up. */
export function claimsCaughtUp(of: Pick<FreshnessInput, 'currentBlock' | 'totalBlocks' | 'etaSeconds'>): boolean {
  const { currentBlock, totalBlocks, etaSeconds } = of
  const behind = totalBlocks - currentBlock
  if (currentBlock < 0 || totalBlocks <= 0) return false
  return behind <= fewBlocks || (etaSeconds === 0 && behind <= blocksOfFastChain)
}

/** More blocks behind the head than the polling interval can explain, at this rate of the chain. */
export function farBehindBlocks(pace: BlockRate): number {
  const msPerBlock = msPerBlockOf(pace)
  return msPerBlock === null ? blocksOfFastChain : Math.max(minFarBehindBlocks, Math.ceil(farBehindMs / msPerBlock))
}

/** The independent head, unless it is outdated. */
export const freshHead = ({ head }: Pick<FreshnessInput, 'head'>, nowMs: number): ObservedHead | null =>
  head && nowMs - head.observedAtMs <= headFreshMs ? head : null

/**
 * The number of blocks that a processor is late, by the independent head if there is one. A processor that was never observed at the
 * very head may wait for final blocks, so only older blocks count.
 */
export function lateBlocks(input: FreshnessInput, nowMs: number): number {
  const { currentBlock, totalBlocks, followsHead } = input
  const independentHead = freshHead(input, nowMs)
  if (!independentHead) return Math.max(0, totalBlocks - currentBlock)
  const { headBlock } = independentHead
  const due = followsHead ? headBlock : Math.min(headBlock - finalityBlocks, independentHead.finalBlock ?? headBlock)
  return Math.max(0, due - currentBlock)
}

/** Whether it is far behind the independent head, whatever its own metrics report. False without such a head. */
export function isFarBehind(input: FreshnessInput, nowMs: number): boolean {
  const independentHead = freshHead(input, nowMs)
  return independentHead !== null && lateBlocks(input, nowMs) > farBehindBlocks(independentHead.pace)
}

/** Whether its data source is at the independent head. False until the rate of the chain is known. */
export const isAtHead = (totalBlocks: number, { headBlock, pace }: Pick<ObservedHead, 'headBlock' | 'pace'>): boolean =>
  msPerBlockOf(pace) !== null && headBlock - totalBlocks <= farBehindBlocks(pace)

/** When the head last moved, as observed by the processor or a gateway. */
export function headMovedAt(
  of: Pick<FreshnessInput, 'head'> & { headMovedAtMs: number | null },
  nowMs: number,
): number | null {
  const others = freshHead(of, nowMs)?.movedAtMs ?? null
  if (of.headMovedAtMs === null || others === null) return of.headMovedAtMs ?? others
  return Math.max(of.headMovedAtMs, others)
}

/** The time in milliseconds without a new block after which the head counts as frozen. Null until its usual rate is known. */
export function frozenAfterMs(input: Pick<FreshnessInput, 'head' | 'headPace'>, nowMs: number): number | null {
  const usual = [freshHead(input, nowMs)?.pace, input.headPace].flatMap((pace) => (pace ? [msPerMoveOf(pace)] : []))
  const known = usual.filter((ms) => ms !== null)
  return known.length > 0 ? Math.max(...known) * frozenFactor : null
}
