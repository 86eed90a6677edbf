/** True in `npm run test:full`: full matrices and long samples. */
export const isFull = process.env['SHOAL_TEST_FULL'] === 'true'
