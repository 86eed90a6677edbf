import { expect, test } from 'vitest'
import {
  addSample,
  countersOf,
  gapMs,
  sampleOf,
  type Counters,
  type CounterReading,
  type SamplesByContainer,
} from './sample.ts'

const reading = (changes: Partial<CounterReading> = {}): CounterReading => ({
  squidId: 1,
  generation: 1,
  container: 'eth',
  run: 'a',
  atMs: 100_000,
  cpuSeconds: 50,
  throttledSeconds: 4,
  oomKills: 2,
  crashes: 3,
  lastBlock: 1000,
  rpcRequests: 500,
  rpcFailures: 10,
  cpuLimitCores: 2,
  memoryBytes: 1e6,
  memoryLimitBytes: 4e6,
  diskUsedBytes: null,
  diskTotalBytes: null,
  progress: null,
  ...changes,
})
const laterReading = (changes: Partial<CounterReading> = {}) =>
  reading({ atMs: 110_000, cpuSeconds: 55, throttledSeconds: 5, lastBlock: 1100, rpcRequests: 530, ...changes })
const before = countersOf(reading(), undefined)
const sampleAfter = (reading: CounterReading, previous: Counters = before) =>
  sampleOf(reading, previous, previous.lastBlock)

test('a sample contains the usage since the previous reading', () => {
  expect(sampleAfter(laterReading())).toMatchObject({
    observedSeconds: 10,
    cpuSeconds: 5,
    cpuLimitSeconds: 20,
    throttledSeconds: 1,
    memoryByteSeconds: 1e7,
    memoryPeakBytes: 1e6,
    oomKills: 0,
    crashes: 0,
    blocks: 100,
    rpcRequests: 30,
    rpcFailures: 0,
  })
})

test('the first reading, and the first reading after a gap, cover no time but count events', () => {
  expect(sampleOf(reading(), undefined, null)).toMatchObject({
    observedSeconds: 0,
    cpuSeconds: null,
    memoryByteSeconds: null,
    crashes: 3,
    blocks: 0,
  })
  expect(sampleAfter(laterReading({ atMs: 100_001 + gapMs, crashes: 5 }))).toMatchObject({
    observedSeconds: 0,
    cpuSeconds: null,
    cpuLimitSeconds: null,
    throttledSeconds: null,
    crashes: 2,
    blocks: 100,
  })
})

test('an event counter that was reset is counted from zero; after a reset of the CPU counter within a run the usage is unknown', () => {
  expect(sampleAfter(laterReading({ cpuSeconds: 1, crashes: 1, rpcRequests: 7, lastBlock: 20 }))).toMatchObject({
    cpuSeconds: null,
    cpuLimitSeconds: null,
    crashes: 1,
    rpcRequests: 7,
    blocks: 0,
  })
})

test('CPU of a new run is counted from its start, even if it used more than the previous run', () => {
  expect(sampleAfter(laterReading({ run: 'b', cpuSeconds: 3, throttledSeconds: 1 }))).toMatchObject({
    cpuSeconds: 3,
    throttledSeconds: 1,
  })
  expect(sampleAfter(laterReading({ run: 'b', cpuSeconds: 53 }))).toMatchObject({ cpuSeconds: 53 })
  // Unknown is not zero.
  expect(sampleAfter(laterReading({ run: 'b', cpuSeconds: null, throttledSeconds: null }))).toMatchObject({
    cpuSeconds: null,
    throttledSeconds: null,
  })
})

test('CPU counters of an earlier release, which have no run, are ignored', () => {
  expect(sampleAfter(laterReading({ crashes: 4 }), { ...before, run: null, cpuSeconds: 400 })).toMatchObject({
    cpuSeconds: null,
    crashes: 1,
  })
})

test('events are counted once, even if they are unknown in between', () => {
  const countersWithoutValues = countersOf(laterReading({ oomKills: null, crashes: null }), before)
  expect(sampleAfter(laterReading({ oomKills: null, crashes: null }))).toMatchObject({ oomKills: 0, crashes: 0 })
  expect(sampleAfter(laterReading({ atMs: 120_000, oomKills: 5, crashes: 3 }), countersWithoutValues)).toMatchObject({
    oomKills: 3,
    crashes: 0,
  })
})

test('values that are unknown for a while are counted from the last known value', () => {
  const countersWithoutValues = countersOf(laterReading({ lastBlock: null, rpcRequests: null }), before)
  expect(sampleAfter(laterReading({ lastBlock: null, rpcRequests: null }))).toMatchObject({
    blocks: null,
    rpcRequests: null,
  })
  expect(
    sampleAfter(laterReading({ atMs: 120_000, lastBlock: 1200, rpcRequests: 560 }), countersWithoutValues),
  ).toMatchObject({
    blocks: 200,
    rpcRequests: 60,
  })
})

test('unknown values of one of two generations do not affect the other', () => {
  const unknown = { ...sampleOf(reading(), undefined, null), rpcRequests: null, progress: null }
  const sums: SamplesByContainer = new Map()
  for (const sample of [unknown, sampleAfter(laterReading())]) addSample(sums, sample)
  const [sum, ...others] = sums.values()
  expect(others).toEqual([])
  expect(sum).toMatchObject({ observedSeconds: 10, cpuSeconds: 5, crashes: 3, blocks: 100, rpcRequests: 30 })
})
