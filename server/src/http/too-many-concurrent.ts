import { tooMany, type Refusal } from '../errors.ts'

const retryAfterMs = 15_000

/** The error for a caller or organization whose requests in progress use their share of this process. */
export const tooManyConcurrent = (): Refusal =>
  tooMany(
    'TOO_MANY_CONCURRENT_REQUESTS',
    'Very many of your requests, or of others of your organization, are in progress. Please try again in a few seconds.',
    retryAfterMs,
  )

/** The error for a caller that follows logs `max` times, or whose organization does. */
export const tooManyStreams = (max: number): Refusal =>
  tooMany(
    'TOO_MANY_STREAMS',
    `You, or the members of your organization, already follow ${max} logs, which is the maximum. Please close one of them.`,
    retryAfterMs,
  )
