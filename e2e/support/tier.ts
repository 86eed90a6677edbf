/** True in `npm run test:full`: full matrices and long samples. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'

/**
 * The bar for something that Shoal promises within this time, in milliseconds. `npm run test:full`, which needs a quiet machine, tests
 * the promise; the other runs also have to pass on a machine that is slower and busy.
 */
export const withinPromised = (ms: number): number => (isFull ? ms : 3 * ms)
