import { addressBlock } from '../../address-block.ts'
import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { tooManyRequests } from '../../errors.ts'
import { isKnownAddress, saveKnownAddress } from './account-store.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { refundAttempt, tryConsumeRateLimit } from './rate-limits.ts'
import { deleteCounter, deleteCountersWith } from './rate-store.ts'

const perHour = (calls: number) => ({ calls, perMs: hours(1) })

/**
 * Wrong passwords allowed per hour: 80 for an account, at most 20 of them from one IP address, and 100 from one IP address for all accounts.
 * Addresses and browsers from which the owner has signed in have separate limits of 20, which others cannot exhaust. Browsers have
 * separate limits because a program on the same machine shares the owner's address, but not the browser's cookie.
 */
const limits = { ofAccount: perHour(80), ofAddress: perHour(100), ofPair: perHour(20), ofDevice: perHour(20) }

const accountKey = (email: string) => `sign-in:account:${hashSecret(email)}`
const pairKey = (email: string, address: string) => `sign-in:pair:${hashSecret(email)}:${address}`

type Attempt = {
  email: string
  /** The id of the confirmed account with this email; null if there is none. */
  ownerId: number | null
  ip: string
  /** The device id of the browser, if the owner has signed in there. */
  device?: string | null
}

/**
 * Counts an attempt. Returns a function that reverts the count; the caller must call it after a correct password, since only failures
 * count. Also limits emails without an account, because a limit only for accounts would reveal which exist.
 * @throws Refusal 429 when a limit is reached
 */
export async function consumeAttempt(app: App, { email, ownerId, ip, device }: Attempt): Promise<() => Promise<void>> {
  const counters = device
    ? [{ key: `sign-in:device:${device}`, limit: limits.ofDevice }]
    : await countersOf(app, { email, ownerId, address: addressBlock(ip) })
  for (const { key, limit } of counters) {
    const { isAllowed, waitMs } = await tryConsumeRateLimit(app, key, limit)
    if (!isAllowed) throw tooManyRequests(waitMs, 'or set a new password')
  }
  return async () => {
    for (const { key } of counters) await refundAttempt(app, key)
  }
}

async function countersOf(
  app: App,
  { email, ownerId, address }: { email: string; ownerId: number | null; address: string },
) {
  const pair = { key: pairKey(email, address), limit: limits.ofPair }
  if (ownerId !== null && (await isKnownAddress(app.db, ownerId, address))) return [pair]
  // The strictest limit first, so that attempts that exceed it do not count towards the others.
  return [
    pair,
    { key: `sign-in:address:${address}`, limit: limits.ofAddress },
    { key: accountKey(email), limit: limits.ofAccount },
  ]
}

/** Records the IP address as known, so that it has its own limit for this account, which failures from other addresses do not affect. */
export const recordKnownAddress = (app: App, userId: number, ip: string): Promise<void> =>
  saveKnownAddress(app.db, userId, addressBlock(ip), app.clock.now())

/** Resets the counters of an account for all IP addresses, so that a user who gets a new password from the operator can sign in anywhere. */
export async function resetAllAttempts(db: Db, email: string): Promise<void> {
  await deleteCounter(db, accountKey(email))
  await deleteCountersWith(db, pairKey(email, ''))
}

/** Resets the counters, so that a user who set a new password by an emailed link can sign in immediately from the same address. */
export async function resetAttempts(app: App, email: string, ip: string): Promise<void> {
  for (const key of [accountKey(email), pairKey(email, addressBlock(ip))]) await deleteCounter(app.db, key)
}
