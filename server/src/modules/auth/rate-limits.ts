import type { RateLimit } from '@shoal/contract'
import type { App } from '../../app.ts'
import { tooMany } from '../../errors.ts'
import { countOne, countOneLess } from './rate-store.ts'

/**
 * Counts one call or attempt under `key`, across all API processes. A window starts with its first call; calls beyond the limit do
 * not extend it.
 * @throws Refusal 429 with the time to wait
 */
export async function consume(app: App, key: string, limit: RateLimit): Promise<void> {
  const { isAllowed, waitMs } = await tryToConsume(app, key, limit)
  if (!isAllowed) throw tooMany(waitMs)
}

/** Like `consume`, for callers with their own way to refuse. */
export async function tryToConsume(
  app: App,
  key: string,
  limit: RateLimit,
): Promise<{ isAllowed: boolean; waitMs: number }> {
  const now = app.clock.now()
  const { count, endsAt } = await countOne(app.db, key, now, limit.perMs)
  return { isAllowed: count <= limit.calls, waitMs: endsAt.getTime() - now.getTime() }
}

/** Uncounts an attempt. */
export const refundAttempt = (app: App, key: string): Promise<void> => countOneLess(app.db, key)
