import ipaddr from 'ipaddr.js'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { addressBlock } from '../../address-block.ts'
import { callerAddress } from '../headers.ts'
import { MemoryBudget } from '../memory-budget.ts'
import { versionOf } from '../rpc/http.ts'

/**
 * Limits concurrent requests. Callers of the Portal have no tokens, so they are distinguished by address: each version has its own where
 * the host allows it. When the memory for all requests is full, the newest request of the caller with the most is ended for another caller.
 */
export class PortalCallers {
  readonly #maxPerCaller: number
  readonly #isProxyTrusted: boolean
  readonly #memory = new MemoryBudget()
  readonly #counts = new Map<string, number>()

  constructor(maxPerCaller: number, isProxyTrusted: boolean) {
    this.#maxPerCaller = maxPerCaller
    this.#isProxyTrusted = isProxyTrusted
  }

  /** Counts a request until its response is closed. Returns false if the caller has too many. `bodyBytes`: the size of the buffered body. */
  admit(req: IncomingMessage, res: ServerResponse, bodyBytes: number): boolean {
    const caller = this.#callerOf(req)
    const count = this.#counts.get(caller) ?? 0
    if (count >= this.#maxPerCaller) return false
    const release = this.#memory.reserve(caller, bodyBytes, () => res.destroy())
    if (!release) return false
    this.#counts.set(caller, count + 1)
    res.once('close', () => {
      release()
      const remaining = (this.#counts.get(caller) ?? 1) - 1
      if (remaining === 0) this.#counts.delete(caller)
      else this.#counts.set(caller, remaining)
    })
    return true
  }

  #callerOf(req: IncomingMessage): string {
    const address = callerAddress(req, this.#isProxyTrusted)
    // On hosts without separate networks, squids share loopback addresses. What they say about themselves at least keeps honest ones apart.
    const isShared = ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
    return isShared ? `${address} ${versionOf(req)}` : addressBlock(address)
  }
}
