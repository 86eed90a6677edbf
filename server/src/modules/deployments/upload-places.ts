import type { App } from '../../app.ts'
import { asUnavailable } from '../../db/unavailable.ts'
import { Refusal } from '../../errors.ts'

/**
 * Maximum number of archives that an organization may send at the same time, to all api processes together. Each uses memory or disk
 * space up to the maximum size of an archive, before any other limit applies.
 */
export const maxConcurrentUploads = 8

/** The delay that the header `Retry-After` requests. */
const retryAfterMs = 15_000

/** The first id of the locks of an organization. Ids must be below 2^31; organizations with the same first id share the limit. */
const firstLockOf = (orgId: number) => (orgId % 2 ** 28) * maxConcurrentUploads

/** The place of one upload among the concurrent uploads of its organization. */
export type UploadPlace = AsyncDisposable & {
  /** Aborts when another upload may have taken the place, because the connection to Postgres broke. */
  lost: AbortSignal
}

/**
 * Counts an upload of the organization as in progress until the result is disposed, or this process ends: places are locks in Postgres.
 * @throws Refusal 429 when the organization has the maximum of uploads in progress; not 503, whose text the public client does not print
 */
export async function takeUploadPlace(app: Pick<App, 'uploadLocks'>, orgId: number): Promise<UploadPlace> {
  for (let place = 0; place < maxConcurrentUploads; place += 1) {
    const lock = await app.uploadLocks.tryLock(firstLockOf(orgId) + place).catch((error: unknown) => {
      throw asUnavailable(error)
    })
    // If the connection broke, Postgres has released the lock.
    const release = () => lock?.release().catch(() => undefined)
    if (lock) return { lost: lock.lost, [Symbol.asyncDispose]: async () => await release() }
  }
  throw Object.assign(
    new Refusal(
      429,
      'TOO_MANY_CONCURRENT_UPLOADS',
      `The organization is already sending ${maxConcurrentUploads} archives, which is the maximum. Please repeat the command when one of them has arrived.`,
    ),
    { retryAfterMs },
  )
}
