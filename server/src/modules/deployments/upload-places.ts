import { Refusal } from '../../errors.ts'

/**
 * Archives that an organization may send at the same time to one process. Each uses memory or disk space up to the maximum size of an
 * archive, before anything else limits it.
 */
export const maxConcurrentUploads = 8

const retryAfterMs = 15_000

/** Uploads in progress of each organization that has any. */
const uploads = new Map<number, number>()

/**
 * Takes one of the organization's places for uploads. Disposing the result frees it.
 * @throws Refusal 429 when the organization has none left. The public client prints the text of this status, but not that of 503
 */
export function takeUploadPlace(orgId: number): Disposable {
  const inProgress = uploads.get(orgId) ?? 0
  if (inProgress >= maxConcurrentUploads)
    throw Object.assign(
      new Refusal(
        429,
        'TOO_MANY_CONCURRENT_UPLOADS',
        `The organization sends ${maxConcurrentUploads} archives already, which is its maximum. Please repeat the command when one of them has arrived.`,
      ),
      { retryAfterMs },
    )
  uploads.set(orgId, inProgress + 1)
  return {
    [Symbol.dispose]: () => {
      const remaining = (uploads.get(orgId) ?? 1) - 1
      if (remaining > 0) uploads.set(orgId, remaining)
      else uploads.delete(orgId)
    },
  }
}
