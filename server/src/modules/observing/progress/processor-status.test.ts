import { describe, expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import type { ObservedHead } from './freshness.ts'
import { lagOf } from './lag.ts'
import { processorStatus } from './processor-status.ts'
import type { ObservedContainer, ObservedProcessor } from './details-store.ts'
import { observedContainer, observedProcessor } from '../testing/observed.ts'

const now = Date.parse('2026-01-15T12:00:00Z')
const ago = (ms: number) => now - ms

const container = (change: Partial<ObservedContainer> = {}) =>
  observedContainer({ sinceMs: ago(minutes(60)), ...change })
const metricsOf = (change: Partial<ObservedProcessor> = {}) => observedProcessor(now, change)

const status = (c: Parameters<typeof processorStatus>[0], s?: ObservedProcessor) => processorStatus(c, s, now).status

test('a status includes its start time, if that was observed', () => {
  const since = (c: Parameters<typeof processorStatus>[0], s?: ObservedProcessor) => processorStatus(c, s, now).sinceMs
  const startedMs = ago(minutes(60))
  expect(since(undefined)).toBeNull()
  expect(since(container({ state: 'starting' }))).toBe(startedMs)
  expect(since(container(), metricsOf())).toBe(startedMs)
  expect(since(container(), metricsOf({ caughtUpAtMs: ago(minutes(3)) }))).toBe(ago(minutes(3)))
  expect(since(container(), metricsOf({ unresponsiveSinceMs: ago(minutes(7)) }))).toBe(ago(minutes(7)))
})

describe('a processor is', () => {
  test('STARTING until its metrics respond', () => {
    expect(status(undefined)).toBe('STARTING')
    expect(status(container({ state: 'starting' }))).toBe('STARTING')
    expect(status(container({ sinceMs: ago(1000) }))).toBe('STARTING')
    // Metrics of the previous run do not count.
    expect(status(container({ sinceMs: ago(500) }), metricsOf())).toBe('STARTING')
  })

  test('SYNCING while it is behind, SYNCED within a few blocks of the head', () => {
    expect(status(container(), metricsOf())).toBe('SYNCING')
    expect(status(container(), metricsOf({ currentBlock: 1000 }))).toBe('SYNCED')
    expect(status(container(), metricsOf({ currentBlock: 996 }))).toBe('SYNCED')
    expect(status(container(), metricsOf({ currentBlock: 920, etaSeconds: 0 }))).toBe('SYNCED')
    expect(status(container(), metricsOf({ etaSeconds: 0 }))).toBe('SYNCING')
    expect(status(container(), metricsOf({ currentBlock: -1, totalBlocks: 0 }))).toBe('SYNCING')
  })

  test('SYNCED after it has processed its last block', () => {
    expect(status(container({ state: 'finished', exitCode: 0 }))).toBe('SYNCED')
  })

  test('STUCK when it makes no progress for five minutes while the chain grows', () => {
    const withoutProgress = { progressedAtMs: ago(minutes(6)), headMovedAtMs: ago(5000), stalledMs: minutes(6) }
    expect(status(container(), metricsOf(withoutProgress))).toBe('STUCK')
    expect(status(container(), metricsOf({ ...withoutProgress, progressedAtMs: ago(minutes(4)) }))).toBe('SYNCING')
    expect(status(container(), metricsOf({ ...withoutProgress, headMovedAtMs: ago(minutes(7)) }))).toBe('SYNCING')
    expect(status(container(), metricsOf({ ...withoutProgress, currentBlock: 999 }))).toBe('SYNCED')
    // On a chain whose blocks arrive in batches, the processor was idle until new blocks arrived just now.
    expect(status(container(), metricsOf({ ...withoutProgress, stalledMs: 5000 }))).toBe('SYNCING')
    // It was restarted in the meantime.
    expect(status(container({ sinceMs: ago(minutes(2)) }), metricsOf(withoutProgress))).toBe('SYNCING')
    // There were no observations for an hour.
    const unobserved = {
      progressedAtMs: ago(minutes(63)),
      headMovedAtMs: ago(minutes(61)),
      scrapedAtMs: ago(minutes(60) - 1),
      stalledMs: minutes(3),
    }
    expect(status(container(), metricsOf(unobserved))).toBe('SYNCING')
  })

  test('STUCK when its metrics no longer respond', () => {
    expect(status(container(), metricsOf({ unresponsiveSinceMs: ago(minutes(6)) }))).toBe('STUCK')
    expect(status(container(), metricsOf({ unresponsiveSinceMs: ago(minutes(1)) }))).toBe('STALLED')
    expect(status(container(), metricsOf({ unresponsiveSinceMs: ago(20_000) }))).toBe('SYNCING')
  })

  test('STUCK while it keeps crashing, until a run lasts two minutes', () => {
    const crashing = { restarts: 5, crashesInARow: 5, exitCode: 1, reason: 'It ended with exit code 1' }
    expect(processorStatus(container({ ...crashing, state: 'backoff' }), undefined, now)).toEqual({
      status: 'STUCK',
      reason: 'It ended with exit code 1. It was restarted 5 times.',
      sinceMs: null,
    })
    expect(status(container({ ...crashing, sinceMs: ago(1000) }), metricsOf({ scrapedAtMs: now }))).toBe('STUCK')
    expect(status(container({ ...crashing, sinceMs: ago(minutes(3)) }), metricsOf())).toBe('SYNCING')
    expect(status(container({ state: 'backoff', crashesInARow: 1 }))).toBe('STARTING')
    // It crashed occasionally over many months.
    expect(status(container({ state: 'backoff', restarts: 9, crashesInARow: 1 }))).toBe('STARTING')
    expect(status(container({ state: 'failed', reason: 'no such command' }))).toBe('STUCK')
  })

  describe('compared with the independent head', () => {
    const blockRate = { moves: 100, msPerMove: 12_000, blocksPerMove: 1 }
    const head = (headBlock: number, change: Partial<ObservedHead> = {}): ObservedHead => ({
      headBlock,
      finalBlock: headBlock - 64,
      movedAtMs: ago(4000),
      blockRate,
      observedAtMs: ago(4000),
      ...change,
    })
    const synced = { currentBlock: 1000, followsHead: true }

    test('SYNCED only near that head, and STUCK when its own source has stopped', () => {
      expect(status(container(), metricsOf({ ...synced, head: head(1010) }))).toBe('SYNCED')
      expect(status(container(), metricsOf({ ...synced, head: head(1011) }))).toBe('SYNCING')
      const withoutProgress = { progressedAtMs: ago(minutes(6)), headMovedAtMs: ago(minutes(6)) }
      expect(processorStatus(container(), metricsOf({ ...synced, ...withoutProgress, head: head(1030) }), now)).toEqual(
        {
          status: 'STUCK',
          reason: expect.stringContaining('the chain advanced to 1030'),
          sinceMs: ago(minutes(6)),
        },
      )
    })

    test('STALLED while that head is unknown, even if the requests of the processor succeed', () => {
      const unknown = { ...synced, head: head(2000, { observedAtMs: ago(60_000) }) }
      expect(processorStatus(container(), metricsOf(unknown), now)).toEqual({
        status: 'STALLED',
        reason: expect.stringContaining('No healthy node of its chain has shown the head since'),
        sinceMs: ago(60_000),
      })
      const responses = {
        nodeRespondedAtMs: ago(5000),
        nodeResponseRate: { moves: 50, msPerMove: 10_000, blocksPerMove: 1 },
      }
      expect(status(container(), metricsOf({ ...unknown, ...responses }))).toBe('STALLED')
    })

    test('an outdated head is ignored, and a processor that waits for final blocks is up to date', () => {
      expect(status(container(), metricsOf({ ...synced, head: head(2000, { observedAtMs: ago(35_000) }) }))).toBe(
        'SYNCED',
      )
      const waiting = { currentBlock: 1000, followsHead: false }
      expect(status(container(), metricsOf({ ...waiting, head: head(1200) }))).toBe('SYNCED')
      expect(status(container(), metricsOf({ ...waiting, head: head(1300) }))).toBe('SYNCING')
      // On rollups, a block becomes final only thousands of blocks later.
      expect(status(container(), metricsOf({ ...waiting, head: head(5000, { finalBlock: 1000 }) }))).toBe('SYNCED')
    })

    test('the lag is reported in blocks and in time', () => {
      expect(lagOf(metricsOf({ ...synced, head: head(1030) }), now)).toEqual({
        blocks: 30,
        seconds: 360,
        head: 1030,
        source: 'rpc',
      })
      expect(lagOf(metricsOf({ currentBlock: 950 }), now)).toEqual({
        blocks: 50,
        seconds: null,
        head: 1000,
        source: 'processor',
      })
      expect(lagOf(metricsOf({ currentBlock: 950, headRate: blockRate }), now)?.seconds).toBe(600)
      // Its own node has a block that the others do not have.
      expect(lagOf(metricsOf({ ...synced, headRate: blockRate, head: head(998) }), now)).toMatchObject({
        blocks: 0,
        seconds: 0,
      })
      expect(lagOf(metricsOf({ currentBlock: -1, totalBlocks: 0 }), now)).toBeNull()
    })
  })

  test('UNKNOWN when it has run for ten minutes without serving metrics', () => {
    expect(status(container({ sinceMs: ago(minutes(9)) }))).toBe('STARTING')
    expect(status(container({ sinceMs: ago(minutes(11)) }))).toBe('UNKNOWN')
  })
})
