/** What all held requests of a gateway may take. */
const maxBytes = 64 * 1024 * 1024
/** A held request takes its body and at least this: its headers, its connection, what of an unread body has arrived. */
export const leastBytes = 16_384

type Guest = { bytes: number; evict: () => void }

/**
 * The memory for requests that wait. When it is full, the organization that takes most of it makes room for one that takes less:
 * whoever floods it crowds out only itself.
 */
export class WaitingRoom {
  readonly #maxBytes: number
  readonly #orgs = new Map<string, { bytes: number; guests: Set<Guest> }>()
  #bytes = 0

  constructor(most = maxBytes) {
    this.#maxBytes = most
  }

  /** Answers how to leave, or null when there is no room. `evict` is called when the place is given to another; it need not leave then. */
  enter(org: string, bodyBytes: number, evict: () => void): (() => void) | null {
    const guest = { bytes: bodyBytes + leastBytes, evict }
    if (!this.#evict(org, guest.bytes)) return null
    const own = this.#orgs.get(org) ?? { bytes: 0, guests: new Set() }
    this.#orgs.set(org, own)
    own.guests.add(guest)
    this.#add(org, guest.bytes)
    return () => this.#remove(org, guest)
  }

  #evict(org: string, bytes: number): boolean {
    while (this.#bytes + bytes > this.#maxBytes) {
      const [largest, taken] = [...this.#orgs].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a), ['', nothing])
      if (largest === org || taken.bytes <= (this.#orgs.get(org)?.bytes ?? 0) + bytes) return false
      const newest = [...taken.guests].at(-1)
      if (!newest) return false
      this.#remove(largest, newest)
      newest.evict()
    }
    return true
  }

  #remove(org: string, guest: Guest): void {
    if (this.#orgs.get(org)?.guests.delete(guest)) this.#add(org, -guest.bytes)
  }

  #add(org: string, bytes: number): void {
    this.#bytes += bytes
    const own = this.#orgs.get(org)
    if (own) own.bytes += bytes
    if (own?.guests.size === 0) this.#orgs.delete(org)
  }
}

const nothing = { bytes: 0, guests: new Set<Guest>() }
