/** Memory for all held requests of a gateway. */
const maxBytes = 64 * 1024 * 1024
/** Estimated memory of a held request in addition to its body: headers, connection, received part of an unread body. */
export const minBytes = 16_384

type Reservation = { bytes: number; evict: () => void }

/**
 * The memory for held requests. When it is full, the organization that uses most of it gives way to one that uses less, so that a
 * flood only affects the organization that causes it.
 */
export class MemoryBudget {
  readonly #maxBytes: number
  readonly #orgs = new Map<string, { bytes: number; guests: Set<Reservation> }>()
  #bytes = 0

  constructor(capacity = maxBytes) {
    this.#maxBytes = capacity
  }

  /** Returns a function to release the reservation; null when there is no memory left. `evict` is called when another organization takes it over. */
  reserve(org: string, bodyBytes: number, evict: () => void): (() => void) | null {
    const reservation = { bytes: bodyBytes + minBytes, evict }
    if (!this.#makeRoom(org, reservation.bytes)) return null
    const own = this.#orgs.get(org) ?? { bytes: 0, guests: new Set() }
    this.#orgs.set(org, own)
    own.guests.add(reservation)
    this.#add(org, reservation.bytes)
    return () => this.#remove(org, reservation)
  }

  #makeRoom(org: string, bytes: number): boolean {
    while (this.#bytes + bytes > this.#maxBytes) {
      const [largest, taken] = [...this.#orgs].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a), ['', noReservations])
      if (largest === org || taken.bytes <= (this.#orgs.get(org)?.bytes ?? 0) + bytes) return false
      const newest = [...taken.guests].at(-1)
      if (!newest) return false
      this.#remove(largest, newest)
      newest.evict()
    }
    return true
  }

  #remove(org: string, reservation: Reservation): void {
    if (this.#orgs.get(org)?.guests.delete(reservation)) this.#add(org, -reservation.bytes)
  }

  #add(org: string, bytes: number): void {
    this.#bytes += bytes
    const own = this.#orgs.get(org)
    if (own) own.bytes += bytes
    if (own?.guests.size === 0) this.#orgs.delete(org)
  }
}

const noReservations = { bytes: 0, guests: new Set<Reservation>() }
