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
  /** Requests of a month that the organization lets itself make; null: all. */
  cap: number | null
  /** In `month`, as far as the database knows. */
  used: number
  month: string
  monthEndsMs: number
  /** Why nothing is answered, whatever is asked. */
  refusal: RpcRefusal | null
  rate: TokenBucket
}
export type RpcRefusal = { status: number; error: RpcError }

/** A status that changed shows after so long at the latest; a replaced token is told at once. */
const keptMs = 5_000
const maxKept = 10_000

/** Whose tokens are asked with, read from the database and kept for a few seconds. */
export class Accounts {
  readonly #app: App
  readonly #byToken = new Map<string, { account: Promise<Account | null>; loaded: Account | null; untilMs: number }>()
  readonly #rates = new Map<number, TokenBucket>()
  /** What the database knew when this gateway last heard. */
  readonly #known = new Map<number, { month: string; used: number; atMs: number }>()
  readonly #stop: () => void

  constructor(app: App) {
    this.#app = app
    this.#stop = notificationsOf(app.database).listen(rpcTokenChannel, {
      onMessage: (orgId) => this.#forget(Number(orgId)),
      onListening: () => this.#byToken.clear(),
    })
  }

  /** Null for a token that is not, or no longer, an organization's. */
  find(token: string): Account | null | Promise<Account | null> {
    if (!looksLikeRpcToken(token)) return null
    const kept = this.#byToken.get(token)
    const isNewMonth = kept?.loaded && this.#app.clock.now().getTime() >= kept.loaded.monthEndsMs
    if (kept && performance.now() < kept.untilMs && !isNewMonth) return kept.loaded ?? kept.account
    if (this.#byToken.size >= maxKept) this.#byToken.clear()
    const account = this.#load(token)
    const entry = { account, loaded: null as Account | null, untilMs: performance.now() + keptMs }
    this.#byToken.set(token, entry)
    account.then(
      (found) => (entry.loaded = found),
      () => this.#byToken.delete(token),
    )
    return account
  }

  /** After counts were written: what the database now knows. */
  recordUse(totals: readonly { orgId: number; month: string; used: number }[], own: ReadonlyMap<number, number>): void {
    for (const total of totals) this.#oweOthers(total, own.get(total.orgId) ?? 0)
    const byOrg = new Map(totals.map((t) => [`${t.orgId} ${t.month}`, t.used]))
    for (const { loaded } of this.#byToken.values())
      if (loaded) loaded.used = byOrg.get(`${loaded.orgId} ${loaded.month}`) ?? loaded.used
  }

  /**
   * What other gateways let through counts here too: each of them may pass on what a second allows before it hears of the others,
   * and waits for that afterwards, so that together they stay within the organization's rate. Costs no question of its own.
   */
  #oweOthers({ orgId, month, used }: { orgId: number; month: string; used: number }, own: number): void {
    const before = this.#known.get(orgId)
    const atMs = performance.now()
    this.#known.set(orgId, { month, used, atMs })
    if (before?.month !== month) return
    // In a longer time without a word of it the others used what became free meanwhile.
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

  #forget(orgId: number): void {
    // An entry that is still being loaded may hold what was just replaced.
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

/** `pending` are requests that were answered and not yet written. Null while there is room for `count` more. */
export function overQuota(account: Account, pending: number, count: number): RpcRefusal | null {
  const asked = account.used + pending + count
  if (account.cap !== null && asked > account.cap)
    return refusal(
      429,
      codes.limitExceeded,
      'The organization has reached the cap it set for this month. Its administrators can raise it on the billing page.',
    )
  if (!account.isPlayground || asked <= limits.playgroundRpcRequests) return null
  const most = limits.playgroundRpcRequests.toLocaleString('en')
  return refusal(
    429,
    codes.limitExceeded,
    `The playground has used its ${most} RPC requests of this month. They begin anew on the first of the next month; an organization has no such limit.`,
  )
}

/** Null while the organization is within its rate. */
export function overRate(account: Account, count: number): RpcRefusal | null {
  if (account.rate.take(count)) return null
  const seconds = Math.ceil(account.rate.waitMs(count) / 1000)
  return refusal(429, codes.limitExceeded, `Too many RPC requests at once. Try again in ${seconds} s.`)
}
