/** Concurrent reads of the database that clients cause before they are known. */
const maxReads = 16

/** Limits concurrent reads of the database that any client can cause: further ones are refused at once. */
export class ReadLimit {
  #running = 0

  /** Returns what `read` returns, or `refused` without a call if too many reads are running. Rejects if `read` does. */
  async run<T>(read: () => Promise<T>, refused: T): Promise<T> {
    if (this.#running >= maxReads) return refused
    this.#running += 1
    try {
      return await read()
    } finally {
      this.#running -= 1
    }
  }
}
