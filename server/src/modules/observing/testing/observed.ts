import { unknownBlockRate } from '../../rpc/index.ts'
import type { ObservedContainer, ObservedProcessor } from '../progress/parts-store.ts'

/** An observed container that runs and has never ended. */
export const observedContainer = (change: Partial<ObservedContainer>): ObservedContainer => ({
  squidId: 1,
  container: 'eth',
  state: 'running',
  sinceMs: 0,
  restarts: 0,
  crashesInARow: 0,
  exitCode: null,
  isOutOfMemory: false,
  reason: null,
  source: null,
  ...change,
})

/** An observed processor in the middle of its chain, which made progress a moment before `nowMs`. */
export const observedProcessor = (nowMs: number, change: Partial<ObservedProcessor>): ObservedProcessor => ({
  squidId: 1,
  processor: 'eth',
  currentBlock: 500,
  totalBlocks: 1000,
  blocksPerSecond: 10,
  etaSeconds: 50,
  progressedAtMs: nowMs - 3000,
  headMovedAtMs: nowMs - 3000,
  scrapedAtMs: nowMs - 1000,
  unansweredSinceMs: null,
  headPace: unknownBlockRate,
  caughtUpAtMs: null,
  stillMs: 0,
  followsHead: false,
  answeredAtMs: null,
  answerPace: unknownBlockRate,
  head: null,
  ...change,
})
