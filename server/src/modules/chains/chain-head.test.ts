import { expect, test } from 'vitest'
import { nextHead, type ChainHead } from './chain-head.ts'
import { msPerBlockOf, msPerMoveOf, nextBlockRate, unknownBlockRate } from './block-rate.ts'

const startMs = Date.parse('2026-01-15T12:00:00Z')
const at = (seconds: number) => new Date(startMs + seconds * 1000)

/** Observes a chain, whose blocks are 12 seconds apart, every 5 seconds. Times are in seconds since the start. */
function observe(seconds: number, from = 0, last?: ChainHead): ChainHead | undefined {
  let head = last
  for (let s = from; s <= from + seconds; s += 5)
    head = nextHead(head, { chain: 'eth', headBlock: 1000 + Math.floor(s / 12), finalBlock: 900 }, at(s))
  return head
}

test('the block rate of a chain is computed from observations', () => {
  const head = observe(3600)
  expect(msPerBlockOf(head?.blockRate ?? unknownBlockRate)).toBeCloseTo(12_000, -3)
  expect(msPerMoveOf(head?.blockRate ?? unknownBlockRate)).toBeCloseTo(12_000, -3)
  expect(msPerBlockOf(observe(60)?.blockRate ?? unknownBlockRate)).toBeNull()
})

test('gaps in observations and halts of the chain do not change the block rate', () => {
  const before = observe(3600)
  const afterGap = observe(0, 3600 + 7200, before)
  expect(afterGap?.blockRate).toEqual(before?.blockRate)
  expect(afterGap?.movedAt).toEqual(at(10_800))
  const blockRate = before?.blockRate ?? unknownBlockRate
  expect(nextBlockRate(blockRate, 86_400_000, 1).msPerMove).toBeLessThan(2 * blockRate.msPerMove)
})

test('nodes that are some blocks behind do not lower the head; a reset of the chain does', () => {
  const before = observe(3600)
  const behind = nextHead(before, { chain: 'eth', headBlock: 1290, finalBlock: null }, at(3605))
  expect(behind).toEqual({ ...before, observedAt: at(3605) })
  const reset = nextHead(before, { chain: 'eth', headBlock: 3, finalBlock: null }, at(3605))
  expect(reset).toMatchObject({ headBlock: 3, movedAt: at(3605), blockRate: unknownBlockRate })
})
