/** Parts of a body are joined when there are this many: a part of one byte takes hundreds of bytes of memory. */
const maxParts = 1_000

/** Collects the parts of a body, in about as much memory as the body has bytes. */
export class BodyParts {
  #parts: Buffer[] = []
  #joined: Buffer[] = []
  #length = 0

  /** The number of bytes. */
  get length(): number {
    return this.#length
  }

  add(part: Buffer): void {
    this.#parts.push(part)
    this.#length += part.length
    if (this.#parts.length < maxParts) return
    this.#joined.push(Buffer.concat(this.#parts))
    this.#parts = []
  }

  /** Returns the body as text. */
  text(): string {
    const [first] = this.#parts
    const isSingle = first !== undefined && this.#parts.length === 1 && this.#joined.length === 0
    return isSingle ? String(first) : Buffer.concat([...this.#joined, ...this.#parts]).toString()
  }
}
