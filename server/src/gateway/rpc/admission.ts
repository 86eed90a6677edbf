import type { App } from '../../app.ts'
import { Accounts, overQuota, overRate, unknownToken, type Account, type RpcRefusal } from './accounts.ts'
import type { Call, Outcome } from './json-rpc.ts'
import { Meter } from './meter.ts'

/** Who calls which chain, and for which version of a squid (empty when unknown). */
export type Caller = { account: Account; chain: string; version: string }

/** What messages of a subscription are counted as. */
const notificationMethod = 'eth_subscription'

/** Admits and counts calls in the same way for HTTP and WebSocket. */
export class Admission {
  readonly #accounts: Accounts
  readonly #meter: Meter

  constructor(app: App) {
    this.#accounts = new Accounts(app)
    this.#meter = new Meter(app, (totals, own) => this.#accounts.recordUse(totals, own))
  }

  /** Null for a token that is not, or no longer, an organization's. */
  find(token: string): Account | null | Promise<Account | null> {
    return this.#accounts.find(token)
  }

  /** Why `count` calls are not answered; null when they are, and then they are taken from the rate. */
  refuse(account: Account | null, count: number): RpcRefusal | null {
    return this.refuseAny(account, count) ?? (account && overRate(account, count))
  }

  /** As `refuse`, apart from the rate: what no waiting changes. */
  refuseAny(account: Account | null, count = 1): RpcRefusal | null {
    if (!account) return unknownToken
    return account.refusal ?? overQuota(account, this.#meter.pendingOf(account.orgId), count)
  }

  /** Counts a call by what it came to. */
  count({ account, chain, version }: Caller, { method }: Pick<Call, 'method'>, outcome: Outcome): void {
    const wasAnswered = outcome.kind !== 'error' || !outcome.isOurs
    this.#meter.count({ orgId: account.orgId, chain, version, method }, wasAnswered)
  }

  /** Counts one message of a subscription, which is as much as one call. */
  countNotification({ account, chain, version }: Caller): void {
    this.#meter.count({ orgId: account.orgId, chain, version, method: notificationMethod }, true)
  }

  /** Writes what was counted. */
  async close(): Promise<void> {
    this.#accounts.close()
    await this.#meter.close()
  }
}
