import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { tooMany } from '../../errors.ts'
import { isKnownAddress, rememberAddress } from './account-store.ts'
import { addressBlock } from './address.ts'
import { hashOf } from './api-token-key.ts'
import { refundAttempt, tryToConsume } from './rate-limits.ts'
import { deleteCounter } from './rate-store.ts'

const perHour = (calls: number) => ({ calls, perMs: hours(1) })

/**
 * Wrong passwords per hour: 100 for an account, of which 20 are reserved for addresses its owner has signed in from, so that others
 * cannot lock the owner out; and 100 for one address over all accounts.
 */
const limits = { ofStrangers: perHour(80), ofOwner: perHour(20), ofAddress: perHour(100) }

const accountKey = (email: string) => `sign-in:account:${hashOf(email)}`
const ownerKey = (email: string) => `sign-in:owner:${hashOf(email)}`

/**
 * Counts an attempt and returns a function that uncounts it after a right password: only failures count. Also limits emails without
 * an account, because a limit for accounts alone would reveal them.
 * @throws Refusal 429
 */
export async function consumeAttempt(
  app: App,
  { email, ownerId, ip }: { email: string; ownerId: number | null; ip: string },
): Promise<() => Promise<void>> {
  const address = addressBlock(ip)
  const isOwners = ownerId !== null && (await isKnownAddress(app.db, ownerId, address))
  const counters = isOwners
    ? [{ key: ownerKey(email), limit: limits.ofOwner }]
    : [
        { key: `sign-in:address:${address}`, limit: limits.ofAddress },
        { key: accountKey(email), limit: limits.ofStrangers },
      ]
  for (const { key, limit } of counters) {
    const { isAllowed, waitMs } = await tryToConsume(app, key, limit)
    if (!isAllowed) throw tooMany(waitMs, 'or set a new password')
  }
  return async () => {
    for (const { key } of counters) await refundAttempt(app, key)
  }
}

/** Exempts the address from the failures of others. */
export const trustAddress = (app: App, userId: number, ip: string): Promise<void> =>
  rememberAddress(app.db, userId, addressBlock(ip), app.clock.now())

/** Lets a user who set a new password by mail sign in immediately. */
export async function resetAttempts(app: App, email: string): Promise<void> {
  for (const key of [accountKey(email), ownerKey(email)]) await deleteCounter(app.db, key)
}
