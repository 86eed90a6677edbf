import type { App } from '../../app.ts'
import { asUnavailable } from '../../db/unavailable.ts'
import { tooMany } from '../../errors.ts'

/**
 * Maximum number of archives that an organization may send at the same time, to all api processes together. Each uses memory or disk
 * space up to the maximum size of an archive, before any other limit applies.
 */
export const maxConcurrentUploads = 8

/** The delay that the header `Retry-After` requests. */
const retryAfterMs = 15_000

/** Returns the id of an organization's first permit. A permit is a lock. Ids must be below 2^31; organizations with the same first id share the limit. */
const firstLockOf = (orgId: number) => (orgId % 2 ** 28) * maxConcurrentUploads

/** The permit of one upload; an organization has `maxConcurrentUploads` permits. */
export type UploadPermit = AsyncDisposable & {
  /** Aborts when another upload may have acquired the permit, because the connection to Postgres broke. */
  lost: AbortSignal
}

/**
 * Counts an upload of the organization as in progress until the result is disposed, or this process ends: permits are locks in Postgres.
 * @throws Refusal 429 when the organization has the maximum of uploads in progress; not 503, whose text the public client does not print
 */
export async function acquireUploadPermit(app: Pick<App, 'uploadLocks'>, orgId: number): Promise<UploadPermit> {
  for (let index = 0; index < maxConcurrentUploads; index += 1) {
    const lock = await app.uploadLocks.tryLock(firstLockOf(orgId) + index).catch((error: unknown) => {
      throw asUnavailable(error)
    })
    // If the connection broke, Postgres has released the lock.
    const release = () => lock?.release().catch(() => undefined)
    if (lock) return { lost: lock.lost, [Symbol.asyncDispose]: async () => await release() }
  }
  throw tooMany(
    'TOO_MANY_CONCURRENT_UPLOADS',
    `The organization is already sending ${maxConcurrentUploads} archives, which is the maximum. Please repeat the command when one of them has arrived.`,
    retryAfterMs,
  )
}
