import type { App } from '../../app.ts'
import { Accounts, overQuota, overRate, unknownToken, type Account, type RpcRefusal } from './accounts.ts'
import type { Call, Outcome } from './json-rpc.ts'
import { Meter } from './meter.ts'

/** The calling account, the chain it calls, and the squid version it calls for (empty when unknown). */
export type Caller = { account: Account; chain: string; version: string }

/** Method name under which subscription messages are counted. */
const notificationMethod = 'eth_subscription'

/** Admits and counts calls in the same way for HTTP and WebSocket. */
export class Admission {
  readonly #accounts: Accounts
  readonly #meter: Meter

  constructor(app: App) {
    this.#accounts = new Accounts(app)
    this.#meter = new Meter(app, (totals, own) => this.#accounts.recordUse(totals, own))
  }

  /** The account of a token; null for an unknown or replaced one. */
  find(token: string): Account | null | Promise<Account | null> {
    return this.#accounts.find(token)
  }

  /** Why `count` calls are refused; null when they are admitted, and then they are charged to the rate. */
  refuse(account: Account | null, count: number): RpcRefusal | null {
    return this.refuseAny(account, count) ?? (account && overRate(account, count))
  }

  /** As `refuse`, without the rate: refusals that waiting a few seconds does not lift. */
  refuseAny(account: Account | null, count = 1): RpcRefusal | null {
    if (!account) return unknownToken
    return account.refusal ?? overQuota(account, this.#meter.pendingOf(account.orgId), count)
  }

  /** Counts a call by its outcome. */
  count({ account, chain, version }: Caller, { method }: Pick<Call, 'method'>, outcome: Outcome): void {
    const wasAnswered = outcome.kind !== 'error' || !outcome.isOurs
    this.#meter.count({ orgId: account.orgId, chain, version, method }, wasAnswered)
  }

  /** Counts one subscription message, which is billed like one call. */
  countNotification({ account, chain, version }: Caller): void {
    this.#meter.count({ orgId: account.orgId, chain, version, method: notificationMethod }, true)
  }

  /** Flushes pending counts. */
  async close(): Promise<void> {
    this.#accounts.close()
    await this.#meter.close()
  }
}
