import fc from 'fast-check'
import type { KillPoint } from './mortal-app.ts'

/** `npm run test:full` sets it: every death is tried, where `npm test` tries a sample. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/** What the samples are drawn with; `SHOAL_TEST_SEED` repeats those of an earlier run. */
const seed = Number(process.env['SHOAL_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))

/** For the log: which deaths were tried, and how to try them again. */
export const killPlanName = isFull ? 'before and after every change' : `a sample, SHOAL_TEST_SEED=${seed}`

/**
 * The deaths to try, one after the other: before and after each change, or a seeded sample with one in about `stride` changes.
 * It has no end of its own: the caller stops when a worker lives on.
 */
export function* deaths(stride: number): Generator<KillPoint> {
  if (isFull) {
    for (let call = 1; ; call++) for (const when of ['before', 'after'] as const) yield { call, when }
  }
  const step = fc.record({
    calls: fc.integer({ min: 1, max: 2 * stride - 1 }),
    when: fc.constantFrom<KillPoint['when']>('before', 'after'),
  })
  let call = 0
  for (const { calls, when } of fc.sample(step, { seed, numRuns: 1000 })) {
    call += calls
    yield { call, when }
  }
}
