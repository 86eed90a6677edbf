/** Limits concurrency. Waiting callers acquire a slot in the order of their calls. */
export class Semaphore {
  #free: number
  #waiting: (() => void)[] = []

  constructor(max: number) {
    this.#free = max
  }

  get isFull(): boolean {
    return this.#free === 0
  }

  /** Waits for a slot. Resolves with a function that releases it. @throws the signal's reason when aborted while waiting */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.#free > 0) {
      this.#free -= 1
    } else {
      await this.#wait(signal)
    }
    return () => this.#release()
  }

  /** Runs `work` in a slot. @throws the signal's reason when aborted while waiting */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(signal)
    try {
      return await work()
    } finally {
      release()
    }
  }

  async #wait(signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const onAbort = () => {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== resolve)
      reject(signal?.reason)
    }
    this.#waiting.push(resolve)
    signal?.addEventListener('abort', onAbort, { once: true })
    await promise
    signal?.removeEventListener('abort', onAbort)
  }

  #release(): void {
    const resolveNext = this.#waiting.shift()
    if (resolveNext === undefined) {
      this.#free += 1
    } else {
      resolveNext()
    }
  }
}

/** Runs at most one task per key at a time. */
export class KeyedMutex {
  #entries = new Map<string, { semaphore: Semaphore; users: number }>()

  /** Runs `work` when no other task of the key runs. @throws the signal's reason when aborted while waiting */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const entry = this.#entries.get(key) ?? { semaphore: new Semaphore(1), users: 0 }
    entry.users += 1
    this.#entries.set(key, entry)
    try {
      return await entry.semaphore.run(work, signal)
    } finally {
      entry.users -= 1
      if (entry.users === 0) {
        this.#entries.delete(key)
      }
    }
  }
}

/**
 * Runs `work` for many callers, one run at a time. Callers that wait for the run in progress share the next one: it begins after their calls,
 * so it sees what they changed before.
 */
export class SharedRun {
  readonly #work: () => Promise<void>
  #current: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** Resolves when a run that began after this call has ended. @throws the error of that run */
  run(): Promise<void> {
    if (this.#next !== null) return this.#next
    if (this.#current === null) return this.#start()
    this.#next = this.#current.catch(() => undefined).then(() => this.#start())
    return this.#next
  }

  #start(): Promise<void> {
    this.#next = null
    const run = this.#work().finally(() => {
      if (this.#current === run) this.#current = null
    })
    this.#current = run
    return run
  }
}

/**
 * Maps items with at most `max` calls of `work` at a time. Results are in the order of the items. After a failure no more calls
 * begin. Rejects with the first failure, but only when all calls have ended.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  max: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const failures: unknown[] = []
  const remaining = items.entries()
  const processItems = async () => {
    for (const [index, item] of remaining) {
      try {
        results[index] = await work(item)
      } catch (error) {
        failures.push(error)
      }
      if (failures.length > 0) return
    }
  }
  await Promise.all(Array.from({ length: Math.min(max, items.length) }, processItems))
  if (failures.length > 0) throw failures[0]
  return results
}

/** Admits at most `maxPerKey` concurrent tasks of each key, and `max` of all keys. Never waits. */
export class ConcurrencyLimit {
  readonly #maxPerKey: number
  readonly #max: number
  readonly #active = new Map<string, number>()
  #total = 0

  constructor(maxPerKey: number, max = Infinity) {
    this.#maxPerKey = maxPerKey
    this.#max = max
  }

  /** Admits a task. Returns a function to call when it has ended, of which further calls have no effect; null if too many are active. */
  admit(key: string): (() => void) | null {
    const active = this.#active.get(key) ?? 0
    if (this.#total >= this.#max || active >= this.#maxPerKey) return null
    this.#active.set(key, active + 1)
    this.#total += 1
    let isActive = true
    return () => {
      if (!isActive) return
      isActive = false
      this.#total -= 1
      const remaining = (this.#active.get(key) ?? 1) - 1
      if (remaining > 0) this.#active.set(key, remaining)
      else this.#active.delete(key)
    }
  }
}
