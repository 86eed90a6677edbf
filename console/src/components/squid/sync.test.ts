import { expect, test } from 'vitest'
import { formatSpan, formatSpeed, lagBlocks, shortSyncSummary, syncSummary } from './sync.ts'

const processor = (
  status: 'STARTING' | 'SYNCING' | 'SYNCED',
  currentBlock: number,
  totalBlocks: number,
  etaSeconds = 0,
) => ({
  status,
  syncState: { currentBlock, totalBlocks },
  blocksPerSecond: status === 'SYNCING' ? 2100.4 : null,
  etaSeconds,
})

test('an estimated duration is rounded to whole seconds, minutes, hours or days', () => {
  const formatted = [0.2, 42, 90, 3599, 7200, 86_400, 200_000].map(formatSpan)
  expect(formatted).toEqual(['1 s', '42 s', '2 min', '1 h', '2 h', '1 day', '2 days'])
})

test('speeds below 10 blocks per second have decimals', () => {
  expect([0.0833, 2.5, 12.34, 2100.4].map(formatSpeed)).toEqual(['0.08', '2.5', '12', '2,100'])
})

test('the lag is null without a head, and never negative', () => {
  expect(lagBlocks(processor('STARTING', -1, 0))).toBeNull()
  expect(lagBlocks(processor('SYNCING', -1, 0))).toBeNull()
  expect(lagBlocks(processor('SYNCING', -1, 100))).toBe(100)
  expect(lagBlocks(processor('SYNCED', 101, 100))).toBe(0)
})

test('the summary describes the processor that is furthest behind', () => {
  const behind = processor('SYNCING', 25, 100, 780)
  expect(syncSummary([processor('SYNCED', 100, 100), behind])).toBe(
    '25.00% synced · 2,100 blocks/s mapped · about 13 min left',
  )
  expect(shortSyncSummary([behind])).toBe('25.00% · 13 min left')
  // 100 % would mean that nothing is left.
  expect(shortSyncSummary([processor('SYNCING', 999_999, 1_000_000, 60)])).toBe('99.99% · 1 min left')
  expect(syncSummary([processor('SYNCED', 100, 100), processor('SYNCED', 998, 1000)])).toBe('2 blocks behind the head')
  expect(syncSummary([processor('SYNCED', 100, 100)])).toBe('at head')
  expect(syncSummary([processor('STARTING', -1, 0)])).toBeNull()
  expect(syncSummary([])).toBeNull()
})
