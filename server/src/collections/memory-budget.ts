/** Default memory for all held requests of a gateway. */
const defaultCapacityBytes = 64 * 1024 * 1024
/** Estimated memory of a held request in addition to its body: headers, connection, and the received part of an unread body. */
export const requestOverheadBytes = 16_384

type Reservation = { bytes: number; evict: () => void }

/**
 * Limits the memory for held requests. When it is full, requests of the organization that uses the most memory are evicted to
 * free memory for organizations that use less, so that an organization with very many requests affects only itself.
 */
export class MemoryBudget {
  readonly #capacityBytes: number
  readonly #orgs = new Map<string, { bytes: number; reservations: Set<Reservation> }>()
  #bytes = 0

  constructor(capacityBytes = defaultCapacityBytes) {
    this.#capacityBytes = capacityBytes
  }

  /**
   * Reserves memory for one request. Returns a function that releases it; null when no memory is left. Calls `evict` when the memory
   * is given to another organization.
   */
  reserve(org: string, bodyBytes: number, evict: () => void): (() => void) | null {
    const reservation = { bytes: bodyBytes + requestOverheadBytes, evict }
    if (!this.#freeMemory(org, reservation.bytes)) return null
    const usage = this.#orgs.get(org) ?? { bytes: 0, reservations: new Set() }
    this.#orgs.set(org, usage)
    usage.reservations.add(reservation)
    this.#add(org, reservation.bytes)
    return () => this.#remove(org, reservation)
  }

  #freeMemory(org: string, bytes: number): boolean {
    while (this.#bytes + bytes > this.#capacityBytes) {
      const [maxOrg, maxUsage] = [...this.#orgs].reduce((a, b) => (b[1].bytes > a[1].bytes ? b : a), ['', noUsage])
      if (maxOrg === org || maxUsage.bytes <= (this.#orgs.get(org)?.bytes ?? 0) + bytes) return false
      const newest = [...maxUsage.reservations].at(-1)
      if (!newest) return false
      this.#remove(maxOrg, newest)
      newest.evict()
    }
    return true
  }

  #remove(org: string, reservation: Reservation): void {
    if (this.#orgs.get(org)?.reservations.delete(reservation)) this.#add(org, -reservation.bytes)
  }

  #add(org: string, bytes: number): void {
    this.#bytes += bytes
    const usage = this.#orgs.get(org)
    if (usage) usage.bytes += bytes
    if (usage?.reservations.size === 0) this.#orgs.delete(org)
  }
}

const noUsage = { bytes: 0, reservations: new Set<Reservation>() }
