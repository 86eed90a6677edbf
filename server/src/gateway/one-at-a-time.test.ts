import { expect, test } from 'vitest'
import { oneAtATime } from './one-at-a-time.ts'

test('calls during a run share one more run, which begins after the first run has ended', async () => {
  const runs: PromiseWithResolvers<void>[] = []
  const call = oneAtATime(() => {
    const run = Promise.withResolvers<void>()
    runs.push(run)
    return run.promise
  })
  const first = call()
  await Promise.resolve()
  expect(runs).toHaveLength(1)
  const [second, third] = [call(), call()]
  expect(runs).toHaveLength(1)
  runs[0]?.reject(new Error('the database does not respond'))
  await expect(first).rejects.toThrow('does not respond')
  await expect.poll(() => runs.length).toBe(2)
  runs[1]?.resolve()
  await Promise.all([second, third])
  expect(runs).toHaveLength(2)
})
