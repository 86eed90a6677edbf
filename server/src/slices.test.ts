import { expect, test } from 'vitest'
import { forEachInSlices, mapInSlices } from './slices.ts'

/** Computes for about a tenth of a millisecond. */
function compute(): void {
  const untilMs = performance.now() + 0.1
  while (performance.now() < untilMs);
}

test('other work runs while many items are mapped', async () => {
  let otherRuns = 0
  let isDone = false
  const runOther = () => {
    otherRuns++
    if (!isDone) setImmediate(runOther)
  }
  setImmediate(runOther)
  const items = Array.from({ length: 1_000 }, (_, i) => i)
  expect(await mapInSlices(items, (i) => (compute(), 2 * i))).toEqual(items.map((i) => 2 * i))
  isDone = true
  // The items take 100 ms, and a slice about 3.
  expect(otherRuns).toBeGreaterThan(5)
})

test('between the slices of concurrent loops, other work runs', async () => {
  const order: string[] = []
  let isDone = false
  const runOther = () => {
    order.push('other')
    if (!isDone) setImmediate(runOther)
  }
  setImmediate(runOther)
  const items = Array.from({ length: 500 }, (_, i) => i)
  const run = (name: string) =>
    forEachInSlices(items, () => {
      compute()
      if (order.at(-1) !== name) order.push(name)
    })
  await Promise.all(['a', 'b', 'c'].map(run))
  isDone = true
  // The first slices run immediately, when the loops start.
  const afterStart = order.slice(3)
  const slices = afterStart.filter((name) => name !== 'other').length
  expect(slices).toBeGreaterThan(20)
  for (const [i, name] of afterStart.entries()) if (name !== 'other' && i > 0) expect(afterStart[i - 1]).toBe('other')
})

test('few items are one slice', async () => {
  let otherRuns = 0
  setImmediate(() => otherRuns++)
  const seen: number[] = []
  await forEachInSlices([1, 2, 3], (item) => seen.push(item))
  expect(seen).toEqual([1, 2, 3])
  expect(otherRuns).toBe(0)
})

test('a failure ends the work', async () => {
  const failing = forEachInSlices([1, 2, 3], (item) => {
    if (item === 2) throw new Error('second')
  })
  await expect(failing).rejects.toThrow('second')
})
