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
  // The items take 100 ms, and a slice about 5.
  expect(otherRuns).toBeGreaterThan(5)
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
