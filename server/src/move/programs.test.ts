import type { Observation, WorkloadId } from '@shoal/runtime'
import { expect, test } from 'vitest'
import { removeAll } from './programs.ts'

/** A runtime with these workloads; `remove` of a workload ends when `onRemove` does. */
function runtimeWith(names: string[], onRemove: (workload: string) => Promise<void>) {
  const present = new Set(names)
  return {
    observe: () => Promise.resolve([...present].map((workload) => ({ workload }) as Observation)),
    remove: async (workload: WorkloadId) => {
      await onRemove(workload)
      present.delete(workload)
    },
    present,
  }
}

test('removes workloads at the same time', async () => {
  const all = Promise.withResolvers<void>()
  let removing = 0
  // Each waits for all others, so it would never end if they were removed one after another.
  const runtime = runtimeWith(['a', 'b', 'c'], async () => {
    removing += 1
    if (removing === 3) all.resolve()
    await all.promise
  })
  await removeAll(runtime, new AbortController().signal)
  expect([...runtime.present]).toEqual([])
})

test('removes no further workload after an interruption', async () => {
  const interruption = new AbortController()
  const names = Array.from({ length: 100 }, (_, index) => `w${index}`)
  let removed = 0
  const runtime = runtimeWith(names, async () => {
    removed += 1
    interruption.abort(new Error('interrupted'))
    await Promise.resolve()
  })
  await expect(removeAll(runtime, interruption.signal)).rejects.toThrow('interrupted')
  expect(removed).toBeGreaterThan(0)
  expect(removed).toBeLessThan(20)
})
