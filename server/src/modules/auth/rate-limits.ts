import type { RateLimit } from '@shoal/contract'
import { isIPv6 } from 'node:net'
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

/**
 * Returns the key under which attempts of an IP address are counted: an IPv4 address, or the /64 block of an IPv6 address, since one customer
 * controls a whole block.
 */
export function addressBlock(ip: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped) return mapped
  if (!isIPv6(ip)) return ip
  // The URL parser normalizes IPv6 addresses to their canonical form.
  const canonical = new URL(`http://[${ip.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const groups = head.split(':').filter(Boolean)
  const tailGroups = (tail ?? '').split(':').filter(Boolean)
  const zeros = tail === undefined ? 0 : 8 - groups.length - tailGroups.length
  return `${[...groups, ...Array<string>(zeros).fill('0'), ...tailGroups].slice(0, 4).join(':')}::/64`
}
