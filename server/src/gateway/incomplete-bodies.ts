import type { IncomingMessage, ServerResponse } from 'node:http'

/** Maximum number of incomplete bodies for one program: half of its connections, so that requests without a body always find a free one. */
const maxBodies = 64
/** Maximum number of those of one address. */
const maxPerAddress = 32

/**
 * Counts the requests to one program whose bodies have not arrived completely. Each holds a connection to the program for as long as its
 * caller takes to send the body, which may be minutes.
 */
export class IncompleteBodies {
  readonly #byAddress = new Map<string, number>()
  #total = 0

  /** Counts the request of an address until its body has arrived, or the caller has disconnected. Returns false, without counting it, if there are too many. */
  admit(req: IncomingMessage, res: ServerResponse, address: string): boolean {
    const count = this.#byAddress.get(address) ?? 0
    if (this.#total >= maxBodies || count >= maxPerAddress) return false
    this.#byAddress.set(address, count + 1)
    this.#total += 1
    let isCounted = true
    const release = () => {
      if (!isCounted) return
      isCounted = false
      this.#total -= 1
      const remaining = (this.#byAddress.get(address) ?? 1) - 1
      if (remaining > 0) this.#byAddress.set(address, remaining)
      else this.#byAddress.delete(address)
    }
    req.once('end', release)
    res.once('close', release)
    return true
  }
}
