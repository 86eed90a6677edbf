import ipaddr from 'ipaddr.js'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressBlock } from '../../address-block.ts'
import { callerAddress } from '../headers.ts'
import { MemoryBudget } from '../../collections/memory-budget.ts'
import { versionOf } from '../rpc/http.ts'
import { TokenBucket } from '../rpc/token-bucket.ts'

/** Maximum number of callers whose rate is remembered. */
const maxRates = 10_000

/** `concurrency`: concurrent requests of a caller. `callsPerSecond`: calls to nodes for a caller. */
export type CallerLimits = { concurrency: number; callsPerSecond: number }
/** A caller with an admitted request. `waitForRate` resolves when the caller's rate allows as many calls to nodes. */
export type PortalCaller = { waitForRate: (calls: number) => Promise<void> }

/**
 * Limits concurrent requests, and calls to nodes. Callers of the Portal have no tokens, so they are distinguished by address: each version
 * has its own where the host allows it. When the memory for all requests is full, the newest request of the caller with the most is ended
 * for another caller.
 */
export class PortalCallers {
  readonly #limits: CallerLimits
  readonly #isProxyTrusted: boolean
  readonly #memory = new MemoryBudget()
  readonly #counts = new Map<string, number>()
  readonly #rates = new Map<string, TokenBucket>()

  constructor(limits: CallerLimits, isProxyTrusted: boolean) {
    this.#limits = limits
    this.#isProxyTrusted = isProxyTrusted
  }

  /** Counts a request until its response is closed. Returns null if the caller has too many. `bodyBytes`: the size of the buffered body. */
  admit(req: IncomingMessage, res: ServerResponse, bodyBytes: number): PortalCaller | null {
    const caller = this.#callerOf(req)
    const count = this.#counts.get(caller) ?? 0
    if (count >= this.#limits.concurrency) return null
    const release = this.#memory.reserve(caller, bodyBytes, () => res.destroy())
    if (!release) return null
    this.#counts.set(caller, count + 1)
    res.once('close', () => {
      release()
      const remaining = (this.#counts.get(caller) ?? 1) - 1
      if (remaining === 0) this.#counts.delete(caller)
      else this.#counts.set(caller, remaining)
    })
    const rate = this.#rateOf(caller)
    const waitForRate = async (calls: number) => {
      rate.charge(calls)
      const waitMs = rate.waitMs()
      if (waitMs > 0) await sleep(waitMs)
    }
    return { waitForRate }
  }

  #rateOf(caller: string): TokenBucket {
    const rate = this.#rates.get(caller) ?? new TokenBucket(this.#limits.callsPerSecond)
    // A Map iterates in insertion order, so reinserting makes the first entry the least recently used.
    this.#rates.delete(caller)
    this.#rates.set(caller, rate)
    const [oldest] = this.#rates.keys()
    if (this.#rates.size > maxRates && oldest !== undefined) this.#rates.delete(oldest)
    return rate
  }

  #callerOf(req: IncomingMessage): string {
    const address = callerAddress(req, this.#isProxyTrusted)
    // On hosts without separate networks, squids share loopback addresses. What they say about themselves at least keeps honest ones apart.
    const isShared = ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
    return isShared ? `${address} ${versionOf(req)}` : addressBlock(address)
  }
}
