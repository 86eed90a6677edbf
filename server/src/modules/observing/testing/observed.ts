import { unknownBlockRate } from '../../chains/index.ts'
import type { ObservedContainer, ObservedProcessor } from '../progress/details-store.ts'

/** A running container without an earlier run; `change` replaces some of these values. */
export const observedContainer = (change: Partial<ObservedContainer>): ObservedContainer => ({
  squidId: 1,
  container: 'eth',
  state: 'running',
  sinceMs: 0,
  restarts: 0,
  crashesInARow: 0,
  exitCode: null,
  isOutOfMemory: false,
  diskFullSinceMs: null,
  reason: null,
  source: null,
  ...change,
})

/** A processor in the middle of its chain that made progress just before `nowMs`; `change` replaces some of these values. */
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
  unresponsiveSinceMs: null,
  headRate: unknownBlockRate,
  caughtUpAtMs: null,
  stalledMs: 0,
  followsHead: false,
  nodeRespondedAtMs: null,
  nodeResponseRate: unknownBlockRate,
  head: null,
  ...change,
})
