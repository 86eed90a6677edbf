import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

/** Returns how often each of `count` programs is probed in `rounds` rounds, and the largest number of probes in a round. */
function probe(options: Parameters<typeof createTurns>[0], count: number, rounds: number) {
  const nextTurn = createTurns(options)
  const probes = Array.from({ length: count }, () => 0)
  let maxPerRound = 0
  for (let round = 0; round < rounds; round++) {
    const isTurn = nextTurn(count)
    const ids = probes.flatMap((_, squidId) => (isTurn({ squidId }) ? [squidId] : []))
    for (const id of ids) probes[id] = (probes[id] ?? 0) + 1
    maxPerRound = Math.max(maxPerRound, ids.length)
  }
  return { fewest: Math.min(...probes), most: Math.max(...probes), maxPerRound }
}

const options = { roundMs: 3_000, intervalMs: 3_000, maxIntervalMs: 15_000, maxPerSecond: 800 }

test('up to the maximum rate, every round probes all programs', () => {
  expect(probe(options, 20, 10)).toEqual({ fewest: 10, most: 10, maxPerRound: 20 })
  expect(probe(options, 2_400, 10)).toEqual({ fewest: 10, most: 10, maxPerRound: 2_400 })
})

test('above it, each program is probed equally often, and rounds are equally long', () => {
  expect(probe(options, 10_000, 20)).toEqual({ fewest: 5, most: 5, maxPerRound: 2_500 })
})

test('no program is probed less often than the maximum interval', () => {
  expect(probe(options, 100_000, 20)).toEqual({ fewest: 4, most: 4, maxPerRound: 20_000 })
})

test('rounds that are shorter than the interval probe a part of the programs each', () => {
  expect(probe({ ...options, roundMs: 1_000, intervalMs: 5_000 }, 100, 50)).toEqual({
    fewest: 10,
    most: 10,
    maxPerRound: 20,
  })
})

test('every version is probed again after the number of versions has changed', () => {
  const nextTurn = createTurns(options)
  const seen = new Set<number>()
  for (const count of [10_000, 9_000, 10_000, 2_000]) {
    const isTurn = nextTurn(count)
    for (let squidId = 0; squidId < 2_000; squidId++) if (isTurn({ squidId })) seen.add(squidId)
  }
  expect(seen.size).toBe(2_000)
})
