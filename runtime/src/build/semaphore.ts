/** So many at once; the others wait in the order in which they came. */
export class Semaphore {
  #free: number
  #waiting: (() => void)[] = []

  constructor(semaphore: number) {
    this.#free = semaphore
  }

  get areAllTaken(): boolean {
    return this.#free === 0
  }

  /** Answers what gives the place back. @throws the signal's reason when it is aborted before a place is free */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
    } else {
      await this.#wait(signal)
    }
    return () => this.#release()
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      this.#waiting = this.#waiting.filter((next) => next !== resolve)
      reject(signal.reason)
    }
    this.#waiting.push(resolve)
    signal.addEventListener('abort', leave, { once: true })
    await promise
    signal.removeEventListener('abort', leave)
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#free += 1
    } else {
      next()
    }
  }
}

/** One at a time for each key. */
export class KeyedMutex {
  #places = new Map<string, { semaphore: Semaphore; users: number }>()

  /** @throws the signal's reason when it is aborted before the turn has come */
  async run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const entry = this.#places.get(key) ?? { semaphore: new Semaphore(1), users: 0 }
    entry.users += 1
    this.#places.set(key, entry)
    try {
      const release = await entry.semaphore.take(signal)
      try {
        return await work()
      } finally {
        release()
      }
    } finally {
      entry.users -= 1
      if (entry.users === 0) {
        this.#places.delete(key)
      }
    }
  }
}
