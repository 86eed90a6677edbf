import { Refusal } from '../../errors.ts'

/**
 * Maximum number of archives that an organization may send to one process at the same time. Each uses memory or disk space up to the
 * maximum size of an archive, before any other limit applies.
 */
export const maxConcurrentUploads = 8

const retryAfterMs = 15_000

/** The number of uploads in progress, by organization. */
const uploads = new Map<number, number>()

/**
 * Counts an upload of the organization as in progress until the result is disposed.
 * @throws Refusal 429 when the organization has the maximum of uploads in progress; not 503, whose text the public client does not print
 */
export function takeUploadPlace(orgId: number): Disposable {
  const inProgress = uploads.get(orgId) ?? 0
  if (inProgress >= maxConcurrentUploads)
    throw Object.assign(
      new Refusal(
        429,
        'TOO_MANY_CONCURRENT_UPLOADS',
        `The organization is already sending ${maxConcurrentUploads} archives, which is the maximum. Please repeat the command when one of them has arrived.`,
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
