import type { RateLimit } from '@shoal/contract'
import { addressBlock } from '../../address-block.ts'
import type { App } from '../../app.ts'
import { tooManyRequests } from '../../errors.ts'
import { incrementCounter, decrementCounter } from './rate-store.ts'

/**
 * Counts a call of an endpoint against its rate limit: per user if the user is known, since users in an office may share an IP address,
 * and otherwise per address.
 * @throws Refusal 429 with the time to wait
 */
export async function limitCalls(
  app: App,
  endpoint: string,
  limit: RateLimit,
  { ip, userId }: { ip: string; userId?: number | undefined },
): Promise<void> {
  const caller = userId === undefined ? `address:${addressBlock(ip)}` : `user:${userId}`
  const { isAllowed, waitMs } = await tryConsumeRateLimit(app, `call:${endpoint}:${caller}`, limit)
  if (!isAllowed) throw tooManyRequests(waitMs)
}

/**
 * Counts one call or attempt under `key`, across all API processes. A window starts with the first call; calls beyond the limit do not
 * extend the window.
 */
export async function tryConsumeRateLimit(
  app: App,
  key: string,
  limit: RateLimit,
): Promise<{ isAllowed: boolean; waitMs: number }> {
  const now = app.clock.now()
  const { count, endsAt } = await incrementCounter(app.db, key, now, limit.perMs)
  return { isAllowed: count <= limit.calls, waitMs: endsAt.getTime() - now.getTime() }
}

/** Reverts the counting of one attempt. */
export const refundAttempt = (app: App, key: string): Promise<void> => decrementCounter(app.db, key)
