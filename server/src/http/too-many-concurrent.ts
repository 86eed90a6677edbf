import { tooMany, type Refusal } from '../errors.ts'

const retryAfterMs = 15_000

/** The error for a caller or organization whose requests in progress use their share of this process. */
export const tooManyConcurrent = (): Refusal =>
  tooMany(
    'TOO_MANY_CONCURRENT_REQUESTS',
    'Very many of your requests, or of others of your organization, are in progress. Please try again in a few seconds.',
    retryAfterMs,
  )
