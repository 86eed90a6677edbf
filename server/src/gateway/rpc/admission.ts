import type { App } from '../../app.ts'
import { RpcAccounts, overQuota, overRate, unknownToken, type RpcAccount, type RpcRejection } from './accounts.ts'
import type { RpcCall, RpcOutcome } from './json-rpc.ts'
import { Meter } from './meter.ts'

/** The calling account, the called chain, and the version that sends the call (empty when unknown). */
export type RpcCaller = { account: RpcAccount; chain: string; version: string }

/** Method name under which subscription messages are counted. */
const notificationMethod = 'eth_subscription'

/** Admits and counts calls in the same way for HTTP and WebSocket. */
export class Admission {
  readonly #accounts: RpcAccounts
  readonly #meter: Meter

  constructor(app: App) {
    this.#accounts = new RpcAccounts(app)
    this.#meter = new Meter(app, (totals, ownRequests) => this.#accounts.recordUse(totals, ownRequests))
  }

  /** Returns the account of a token; null for an unknown or replaced token. */
  find(token: string): RpcAccount | null | Promise<RpcAccount | null> {
    return this.#accounts.find(token)
  }

  /** Charges `count` calls to the rate and returns null; or returns why the calls are rejected. */
  admit(account: RpcAccount | null, count: number): RpcRejection | null {
    return this.checkAccount(account, count) ?? (account && overRate(account, count))
  }

  /** Returns why `count` calls are rejected for reasons other than the rate; null if they are not. */
  checkAccount(account: RpcAccount | null, count = 1): RpcRejection | null {
    if (!account) return unknownToken
    return account.rejection ?? overQuota(account, this.#meter.pendingOf(account.orgId), count)
  }

  /** Counts a call by its outcome. */
  count({ account, chain, version }: RpcCaller, { method }: Pick<RpcCall, 'method'>, outcome: RpcOutcome): void {
    const isBillable = outcome.kind !== 'error' || !outcome.isFromGateway
    this.#meter.count({ orgId: account.orgId, chain, version, method }, isBillable)
  }

  /** Counts one subscription message, which is billed like one call. */
  countNotification({ account, chain, version }: RpcCaller): void {
    this.#meter.count({ orgId: account.orgId, chain, version, method: notificationMethod }, true)
  }

  /** Stops listening for replaced tokens, and writes the pending counts. */
  async close(): Promise<void> {
    this.#accounts.close()
    await this.#meter.close()
  }
}
