import { hash } from 'node:crypto'
import type { DiskCache } from './disk-cache.ts'

/** Longer keys are hashed: an eth_call may carry a contract's code. */
const maxKeyLength = 200
/** Longer responses are not cached. */
const maxEntryBytes = 4_194_304
/** Estimated memory of an entry in addition to its key and body. */
const overheadBytes = 200

/**
 * Returns the cache key of a call, which is equal for equivalent calls: the case of hexadecimal digits is ignored. The key contains
 * the chain's `identity`, so that a devnet does not get responses from before its reset.
 */
export function keyOf(identity: string, method: string, params: unknown): string {
  const serialized = JSON.stringify(params)
  const normalized = /[A-F]/.test(serialized)
    ? serialized.replaceAll(/"0x[0-9a-fA-F]*"/g, (hex) => hex.toLowerCase())
    : serialized
  const key = `${identity} ${method} ${normalized}`
  return key.length <= maxKeyLength ? key : hash('sha256', key, 'base64')
}

/** Caches immutable responses: recently used ones in memory, all of them on disk if there is a disk cache. */
export class Cache {
  readonly #entries = new Map<string, Buffer>()
  readonly #maxBytes: number
  readonly #disk: DiskCache | null
  #bytes = 0

  constructor(maxBytes: number, disk: DiskCache | null = null) {
    this.#maxBytes = maxBytes
    this.#disk = disk
  }

  /** The estimated memory of all entries. */
  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Buffer | null {
    const cached = this.#entries.get(key)
    if (cached) {
      // A Map iterates in insertion order, so reinserting makes the first entry the least recently used.
      this.#entries.delete(key)
      this.#entries.set(key, cached)
      return cached
    }
    const stored = this.#disk?.get(key) ?? null
    if (stored) this.#add(key, stored)
    return stored
  }

  /** Stores a copy, because `json` may be a slice of a much larger response. */
  set(key: string, json: Buffer): void {
    if (json.length > maxEntryBytes || this.#entries.has(key)) return
    const copy = Buffer.from(json)
    this.#add(key, copy)
    this.#disk?.set(key, copy)
  }

  #add(key: string, json: Buffer): void {
    this.#entries.set(key, json)
    this.#bytes += sizeOf(key, json)
    for (const [oldest, body] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break
      this.#entries.delete(oldest)
      this.#bytes -= sizeOf(oldest, body)
    }
  }
}

const sizeOf = (key: string, json: Buffer) => key.length * 2 + json.length + overheadBytes
