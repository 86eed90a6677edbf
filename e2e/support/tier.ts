/** True in `npm run test:full`, whose tests run full matrices and long samples. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/**
 * Returns the time limit that a test sets for something that Shoal promises within `ms` milliseconds. `npm run test:full`, which needs a quiet machine, tests
 * the promise; the other runs also have to pass on a machine that is slower and busy.
 */
export const withinPromised = (ms: number): number => (isFull ? ms : 3 * ms)
