/** True in `npm run test:full`, whose tests run full matrices and long samples. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/**
 * Returns a test's time limit for an effect that Shoal promises within `ms` milliseconds: exactly `ms` in `npm run test:full`, which needs
 * an idle machine, and three times as much in other runs, which must also pass on a slow or busy machine.
 */
export const promisedLimitMs = (ms: number): number => (isFull ? ms : 3 * ms)
