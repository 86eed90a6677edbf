import { isUnpaid, limits } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notificationsOf } from '../../db/notifications.ts'
import {
  findTokenOwner,
  hashOfRpcToken,
  looksLikeRpcToken,
  monthOf,
  rpcTokenChannel,
  type TokenOwner,
} from '../../modules/rpc/index.ts'
import { codes, type RpcError } from './json-rpc.ts'
import { TokenBucket } from './token-bucket.ts'

export type Account = {
  orgId: number
  isPlayground: boolean
  /** Monthly request cap set by the organization; null: no cap. */
  cap: number | null
  /** Requests of `month` recorded in the database. */
  used: number
  month: string
  monthEndsMs: number
  /** Why every call of this account is refused; null when calls are allowed. */
  refusal: RpcRefusal | null
  rate: TokenBucket
}
export type RpcRefusal = { status: number; error: RpcError }

/** Maximum delay before a status change takes effect. Replaced tokens are evicted immediately by a notification. */
const cacheMs = 5_000
const maxCached = 10_000

/** Finds the account of an RPC token. Accounts are read from the database and cached for a few seconds. */
export class Accounts {
  readonly #app: App
  readonly #byToken = new Map<string, { account: Promise<Account | null>; loaded: Account | null; untilMs: number }>()
  readonly #rates = new Map<number, TokenBucket>()
  /** Usage by organization as last read from the database. */
  readonly #known = new Map<number, { month: string; used: number; atMs: number }>()
  readonly #stop: () => void

  constructor(app: App) {
    this.#app = app
    this.#stop = notificationsOf(app.database).listen(rpcTokenChannel, {
      onMessage: (orgId) => this.#evict(Number(orgId)),
      onListening: () => this.#byToken.clear(),
    })
  }

  /** The account of a token; null for an unknown or replaced one. */
  find(token: string): Account | null | Promise<Account | null> {
    if (!looksLikeRpcToken(token)) return null
    const cached = this.#byToken.get(token)
    const isNewMonth = cached?.loaded && this.#app.clock.now().getTime() >= cached.loaded.monthEndsMs
    if (cached && performance.now() < cached.untilMs && !isNewMonth) return cached.loaded ?? cached.account
    if (this.#byToken.size >= maxCached) this.#byToken.clear()
    const account = this.#load(token)
    const entry = { account, loaded: null as Account | null, untilMs: performance.now() + cacheMs }
    this.#byToken.set(token, entry)
    account.then(
      (found) => (entry.loaded = found),
      () => this.#byToken.delete(token),
    )
    return account
  }

  /** Applies the database totals after a flush. `own`: requests of each organization that this gateway just wrote. */
  recordUse(totals: readonly { orgId: number; month: string; used: number }[], own: ReadonlyMap<number, number>): void {
    for (const total of totals) this.#chargeOthers(total, own.get(total.orgId) ?? 0)
    const byOrg = new Map(totals.map((t) => [`${t.orgId} ${t.month}`, t.used]))
    for (const { loaded } of this.#byToken.values())
      if (loaded) loaded.used = byOrg.get(`${loaded.orgId} ${loaded.month}`) ?? loaded.used
  }

  /**
   * Charges requests admitted by other gateways to this gateway's bucket, so that all gateways together stay within the
   * organization's rate. Each may overshoot by about one second's worth before it learns of the others, and makes up for it
   * afterwards. Needs no query of its own.
   */
  #chargeOthers({ orgId, month, used }: { orgId: number; month: string; used: number }, own: number): void {
    const before = this.#known.get(orgId)
    const atMs = performance.now()
    this.#known.set(orgId, { month, used, atMs })
    if (before?.month !== month) return
    // After a longer gap between flushes, other gateways may have legitimately used the tokens that became free.
    const freed = Math.max(0, (atMs - before.atMs) / 1000 - 1) * this.#app.config.SHOAL_RPC_RATE
    this.#rates.get(orgId)?.owe(Math.max(0, used - before.used - own - freed))
  }

  close(): void {
    this.#stop()
  }

  async #load(token: string): Promise<Account | null> {
    const now = this.#app.clock.now()
    const month = monthOf(now)
    const monthEndsMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
    const owner = await findTokenOwner(this.#app.db, hashOfRpcToken(token), month)
    if (!owner) return null
    const { orgId, isPlayground, used, cap } = owner
    let rate = this.#rates.get(orgId)
    if (!rate) this.#rates.set(orgId, (rate = new TokenBucket(this.#app.config.SHOAL_RPC_RATE)))
    if (!this.#known.has(orgId)) this.#known.set(orgId, { month, used, atMs: performance.now() })
    return { orgId, isPlayground, cap, used, month, monthEndsMs, refusal: refusalOf(owner), rate }
  }

  #evict(orgId: number): void {
    // An entry that is still loading may contain the token that was just replaced.
    for (const [token, { loaded }] of this.#byToken)
      if (loaded === null || loaded.orgId === orgId) this.#byToken.delete(token)
  }
}

function refusalOf({ status, isPlayground }: TokenOwner): RpcRefusal | null {
  if (isPlayground) return null
  if (isUnpaid(status)) return refusal(403, codes.unauthorized, 'Payment is overdue. Please update your card details.')
  if (status === 'DRAFT')
    return refusal(
      403,
      codes.unauthorized,
      'Organization is not active. Please make sure your billing information is set up correctly.',
    )
  return null
}

const refusal = (status: number, code: number, message: string): RpcRefusal => ({ status, error: { code, message } })

export const unknownToken = refusal(
  401,
  codes.unauthorized,
  'Unknown RPC token. It may have been replaced by a new one.',
)

/** Null when `count` more requests fit into the quota. `pending`: requests answered but not yet written to the database. */
export function overQuota(account: Account, pending: number, count: number): RpcRefusal | null {
  const total = account.used + pending + count
  if (account.cap !== null && total > account.cap)
    return refusal(
      429,
      codes.limitExceeded,
      'The organization has reached the cap it set for this month. Its administrators can raise it on the billing page.',
    )
  if (!account.isPlayground || total <= limits.playgroundRpcRequests) return null
  const max = limits.playgroundRpcRequests.toLocaleString('en')
  return refusal(
    429,
    codes.limitExceeded,
    `The playground has used its ${max} RPC requests of this month. The count resets on the first of the next month; organizations have no such limit.`,
  )
}

/** Takes `count` from the rate; null while the organization is within it. */
export function overRate(account: Account, count: number): RpcRefusal | null {
  if (account.rate.take(count)) return null
  const seconds = Math.ceil(account.rate.waitMs(count) / 1000)
  return refusal(429, codes.limitExceeded, `Too many RPC requests at once. Try again in ${seconds} s.`)
}
