import fc from 'fast-check'
import type { KillPoint } from './crashing-app.ts'

/** Set by `npm run test:full`, which tries every kill point; `npm test` tries a sample. */
export const isFullRun = process.env['SHOAL_TEST_FULL'] === 'true'

/** The seed of the samples. `SHOAL_TEST_SEED` repeats the samples of an earlier run. */
const seed = Number(process.env['SHOAL_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))

/** Describes, for the log, which kill points were tried, and how to repeat them. */
export const killPlanDescription = isFullRun ? 'before and after every change' : `a sample, SHOAL_TEST_SEED=${seed}`

/**
 * Yields the kill points to try, in order: before and after each write, or a seeded sample of about one in `stride` writes. It does
 * not end: the caller stops when a worker survives.
 */
export function* killPoints(stride: number): Generator<KillPoint> {
  if (isFullRun) {
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
