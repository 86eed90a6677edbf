import type { RateLimit } from '@shoal/contract'
import type { App } from '../../app.ts'
import { tooMany } from '../../errors.ts'
import { countOne, countOneLess } from './rate-store.ts'

/**
 * Counts one call or try under `key`, for all copies of the API together. A window begins with the first one and ends on the
 * server's clock; those beyond the limit do not make it longer.
 * @throws Refusal 429 with how long to wait
 */
export async function consume(app: App, key: string, limit: RateLimit): Promise<void> {
  const { isAllowed, waitMs } = await tryToConsume(app, key, limit)
  if (!isAllowed) throw tooMany(waitMs)
}

/** Like `consume`, for callers that have their own way to say no. */
export async function tryToConsume(
  app: App,
  key: string,
  limit: RateLimit,
): Promise<{ isAllowed: boolean; waitMs: number }> {
  const now = app.clock.now()
  const { count, endsAt } = await countOne(app.db, key, now, limit.perMs)
  return { isAllowed: count <= limit.calls, waitMs: endsAt.getTime() - now.getTime() }
}

/** Takes one back that turned out not to count. */
export const refundAttempt = (app: App, key: string): Promise<void> => countOneLess(app.db, key)
