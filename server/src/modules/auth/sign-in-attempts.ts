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
 * Wrong passwords an hour: 100 for an account, of which 20 are kept for addresses its owner signed in from before, so that a
 * stranger who uses up the rest does not lock the owner out; and 100 for one address over all accounts.
 */
const limits = { ofStrangers: perHour(80), ofOwner: perHour(20), ofAddress: perHour(100) }

const accountKey = (email: string) => `sign-in:account:${hashOf(email)}`
const ownerKey = (email: string) => `sign-in:owner:${hashOf(email)}`

/**
 * Takes one try, and answers how to give it back when the password was right: only failures count. The email need not belong to
 * anybody: a limit that only real accounts have would tell who is here.
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

/** From now on strangers' failures do not count against this address. */
export const trustAddress = (app: App, userId: number, ip: string): Promise<void> =>
  rememberAddress(app.db, userId, addressBlock(ip), app.clock.now())

/** Whoever set a new password by mail may sign in at once. */
export async function resetAttempts(app: App, email: string): Promise<void> {
  for (const key of [accountKey(email), ownerKey(email)]) await deleteCounter(app.db, key)
}
