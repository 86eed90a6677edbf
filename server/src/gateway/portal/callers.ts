import { ConcurrencyLimit } from '@shoal/runtime'
import ipaddr from 'ipaddr.js'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressBlock } from '../../address-block.ts'
import { callerAddress } from '../headers.ts'
import { BoundedMap } from '../../collections/bounded-map.ts'
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
  readonly #callsPerSecond: number
  readonly #isProxyTrusted: boolean
  readonly #memory = new MemoryBudget()
  readonly #requests: ConcurrencyLimit
  readonly #rates = new BoundedMap<TokenBucket>(maxRates)

  constructor({ concurrency, callsPerSecond }: CallerLimits, isProxyTrusted: boolean) {
    this.#requests = new ConcurrencyLimit(concurrency)
    this.#callsPerSecond = callsPerSecond
    this.#isProxyTrusted = isProxyTrusted
  }

  /** Counts a request until its response is closed. Returns null if the caller has too many. `bodyBytes`: the size of the buffered body. */
  admit(req: IncomingMessage, res: ServerResponse, bodyBytes: number): PortalCaller | null {
    const caller = this.#callerOf(req)
    const end = this.#requests.admit(caller)
    if (!end) return null
    const release = this.#memory.reserve(caller, bodyBytes, () => res.destroy())
    if (!release) {
      end()
      return null
    }
    res.once('close', () => {
      release()
      end()
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
    const rate = this.#rates.get(caller) ?? new TokenBucket(this.#callsPerSecond)
    this.#rates.set(caller, rate)
    return rate
  }

  #callerOf(req: IncomingMessage): string {
    const address = callerAddress(req, this.#isProxyTrusted)
    // On hosts without separate networks, squids share loopback addresses. What they say about themselves at least keeps honest ones apart.
    const isShared = ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
    return isShared ? `${address} ${versionOf(req)}` : addressBlock(address)
  }
}
