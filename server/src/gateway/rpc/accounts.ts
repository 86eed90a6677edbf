import { isUnpaid, limits } from '@shoal/contract'
import { firstDayOfMonth } from '../../clock.ts'
import type { App } from '../../app.ts'
import { notificationsOf } from '../../db/notifications.ts'
import { findTokenOwner, looksLikeRpcToken, rpcTokenChannel, type TokenOwner } from '../../modules/rpc/index.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { codes, type RpcError } from './json-rpc.ts'
import { TokenBucket } from './token-bucket.ts'

/** The organization of an RPC token, with what decides whether its calls are admitted. */
export type RpcAccount = {
  orgId: number
  isPlayground: boolean
  /** Monthly request cap set by the organization; null: no cap. */
  cap: number | null
  /** Requests of `month` recorded in the database. */
  used: number
  /** The first day of the month (`yyyy-MM-01`). */
  month: string
  monthEndsMs: number
  /** Why every call of this account is rejected; null when calls are allowed. */
  rejection: RpcRejection | null
  rate: TokenBucket
}
/** Why calls are rejected: the HTTP status and the JSON-RPC error. */
export type RpcRejection = { status: number; error: RpcError }

/** Maximum delay before a status change takes effect. Replaced tokens are evicted immediately by a notification. */
const cacheMs = 5_000
/** All accounts are evicted when this number of tokens is cached. */
const maxCached = 10_000

/** Finds the account of an RPC token. Accounts are read from the database and cached for a few seconds. */
export class RpcAccounts {
  readonly #app: App
  readonly #byToken = new Map<
    string,
    { account: Promise<RpcAccount | null>; loaded: RpcAccount | null; expiresAtMs: number }
  >()
  readonly #rates = new Map<number, TokenBucket>()
  /** Usage by organization as last read from the database. */
  readonly #lastUsage = new Map<number, { month: string; used: number; atMs: number }>()
  readonly #stopListening: () => void

  constructor(app: App) {
    this.#app = app
    this.#stopListening = notificationsOf(app.database).listen(rpcTokenChannel, {
      onMessage: (orgId) => this.#evict(Number(orgId)),
      onListening: () => this.#byToken.clear(),
    })
  }

  /** Returns the account of a token; null for an unknown or replaced token. */
  find(token: string): RpcAccount | null | Promise<RpcAccount | null> {
    if (!looksLikeRpcToken(token)) return null
    const cached = this.#byToken.get(token)
    const isNewMonth = cached?.loaded && this.#app.clock.now().getTime() >= cached.loaded.monthEndsMs
    if (cached && performance.now() < cached.expiresAtMs && !isNewMonth) return cached.loaded ?? cached.account
    if (this.#byToken.size >= maxCached) this.#byToken.clear()
    const account = this.#load(token)
    const entry = { account, loaded: null as RpcAccount | null, expiresAtMs: performance.now() + cacheMs }
    this.#byToken.set(token, entry)
    account.then(
      (found) => (entry.loaded = found),
      () => this.#byToken.delete(token),
    )
    return account
  }

  /** Applies the database totals after a flush. `ownRequests`: requests by organization that this gateway just wrote. */
  recordUse(
    totals: readonly { orgId: number; month: string; used: number }[],
    ownRequests: ReadonlyMap<number, number>,
  ): void {
    for (const total of totals) this.#chargeOthers(total, ownRequests.get(total.orgId) ?? 0)
    const byOrg = new Map(totals.map((t) => [`${t.orgId} ${t.month}`, t.used]))
    for (const { loaded } of this.#byToken.values())
      if (loaded) loaded.used = byOrg.get(`${loaded.orgId} ${loaded.month}`) ?? loaded.used
  }

  /**
   * Charges requests admitted by other gateways to this gateway's bucket, so that all gateways together stay within the
   * organization's rate. Each may exceed it for about a second, until it reads the count of the other requests; it then admits fewer.
   * Needs no additional query.
   */
  #chargeOthers({ orgId, month, used }: { orgId: number; month: string; used: number }, ownRequests: number): void {
    const previous = this.#lastUsage.get(orgId)
    const atMs = performance.now()
    this.#lastUsage.set(orgId, { month, used, atMs })
    if (previous?.month !== month) return
    // After a longer gap between flushes, other gateways may have legitimately used the tokens that became free.
    const refilled = Math.max(0, (atMs - previous.atMs) / 1000 - 1) * this.#app.config.SHOAL_RPC_RATE
    this.#rates.get(orgId)?.charge(Math.max(0, used - previous.used - ownRequests - refilled))
  }

  close(): void {
    this.#stopListening()
  }

  async #load(token: string): Promise<RpcAccount | null> {
    const now = this.#app.clock.now()
    const month = firstDayOfMonth(now.getTime())
    const monthEndsMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
    const owner = await findTokenOwner(this.#app.db, hashSecret(token), month)
    if (!owner) return null
    const { orgId, isPlayground, used, cap } = owner
    let rate = this.#rates.get(orgId)
    if (!rate) this.#rates.set(orgId, (rate = new TokenBucket(this.#app.config.SHOAL_RPC_RATE)))
    if (!this.#lastUsage.has(orgId)) this.#lastUsage.set(orgId, { month, used, atMs: performance.now() })
    return { orgId, isPlayground, cap, used, month, monthEndsMs, rejection: rejectionOf(owner), rate }
  }

  #evict(orgId: number): void {
    // An entry that is still loading may contain the token that was just replaced.
    for (const [token, { loaded }] of this.#byToken)
      if (loaded === null || loaded.orgId === orgId) this.#byToken.delete(token)
  }
}

function rejectionOf({ status, isPlayground, isSuspended }: TokenOwner): RpcRejection | null {
  if (isSuspended) return rejection(403, codes.unauthorized, 'The operator has suspended this organization.')
  if (isPlayground) return null
  if (isUnpaid(status))
    return rejection(403, codes.unauthorized, 'Payment is overdue. Please update your card details.')
  if (status === 'DRAFT')
    return rejection(
      403,
      codes.unauthorized,
      'Organization is not active. Please make sure your billing information is set up correctly.',
    )
  return null
}

const rejection = (status: number, code: number, message: string): RpcRejection => ({
  status,
  error: { code, message },
})

/** The rejection of calls with an unknown or replaced token. */
export const unknownToken = rejection(
  401,
  codes.unauthorized,
  'Unknown RPC token. It may have been replaced by a new one.',
)

/**
 * Returns a rejection if `count` more requests exceed the quota, otherwise null.
 * @param pending requests that were counted but are not yet written to the database
 */
export function overQuota(account: RpcAccount, pending: number, count: number): RpcRejection | null {
  const total = account.used + pending + count
  if (account.cap !== null && total > account.cap)
    return rejection(
      429,
      codes.limitExceeded,
      'The organization has reached its own cap for this month. Its administrators can raise it on the billing page.',
    )
  if (!account.isPlayground || total <= limits.playgroundRpcRequests) return null
  const max = limits.playgroundRpcRequests.toLocaleString('en')
  return rejection(
    429,
    codes.limitExceeded,
    `The playground has used its ${max} RPC requests of this month. The count resets on the first of the next month; organizations have no such limit.`,
  )
}

/** Charges `count` requests to the rate. Returns a rejection, and charges nothing, if the organization exceeds it; otherwise null. */
export function overRate(account: RpcAccount, count: number): RpcRejection | null {
  if (account.rate.take(count)) return null
  const seconds = Math.ceil(account.rate.waitMs(count) / 1000)
  return rejection(429, codes.limitExceeded, `Too many RPC requests per second. Try again in ${seconds} s.`)
}
