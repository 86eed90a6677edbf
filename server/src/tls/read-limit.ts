/** Maximum number of concurrent reads. */
const maxReads = 16

/** Limits concurrent reads of the database for clients that are not signed in. Refuses further reads immediately. */
export class ReadLimit {
  #running = 0

  /** Resolves as `read` does; resolves with `refused`, without calling `read`, if too many reads are running. */
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
