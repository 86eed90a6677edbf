import { hash } from 'node:crypto'
import type { DiskCache } from './disk-cache.ts'

/** Longer keys are hashed: an eth_call may carry a contract's code. */
const maxKey = 200
const maxBytes = 4_194_304
/** What an entry costs beside its bytes. */
const overheadBytes = 200

/**
 * What a call asks, as one text: equal for calls that mean the same. `identity` is the chain's, so that a devnet made anew finds
 * nothing of the one before. Hexadecimal digits mean the same in both cases.
 */
export function keyOf(identity: string, method: string, params: unknown): string {
  const written = JSON.stringify(params)
  const asked = /[A-F]/.test(written) ? written.replaceAll(/"0x[0-9a-fA-F]*"/g, (hex) => hex.toLowerCase()) : written
  const key = `${identity} ${method} ${asked}`
  return key.length <= maxKey ? key : hash('sha256', key, 'base64')
}

/** Answers that never change: the recently used in memory, all on disk where there is one. */
export class Cache {
  readonly #entries = new Map<string, Buffer>()
  readonly #maxBytes: number
  readonly #disk: DiskCache | null
  #bytes = 0

  constructor(maxBytes: number, disk: DiskCache | null = null) {
    this.#maxBytes = maxBytes
    this.#disk = disk
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Buffer | null {
    const found = this.#entries.get(key)
    if (found) {
      // The order of a Map is that of insertion: the first is the one not used for longest.
      this.#entries.delete(key)
      this.#entries.set(key, found)
      return found
    }
    const stored = this.#disk?.get(key) ?? null
    if (stored) this.#remember(key, stored)
    return stored
  }

  /** The bytes are copied: they may be a part of a much larger answer. */
  set(key: string, json: Buffer): void {
    if (json.length > maxBytes || this.#entries.has(key)) return
    const own = Buffer.from(json)
    this.#remember(key, own)
    this.#disk?.set(key, own)
  }

  #remember(key: string, json: Buffer): void {
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
