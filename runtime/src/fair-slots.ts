/** `active`: the number of slots of the owner; `waiting`: its callers that wait for a slot, in the order of their calls. */
type Usage = { active: number; waiting: (() => void)[] }

/** `maxWaitMs`: in real time. `maxWaiting`: the maximum number of waiting callers of the owner. */
type WaitLimits = { maxWaitMs?: number; maxWaiting?: number }

/**
 * Limits concurrency, and shares the slots between owners: a slot that becomes free goes to the waiting owner with the fewest slots.
 *
 * With a maximum per owner, the more slots are in use, the fewer an owner may have, but always one if any is free: owners whose work takes
 * long therefore leave slots for the others. Without it, an owner may have all free slots.
 */
export class FairSlots<Owner = number> {
  readonly #max: number
  readonly #maxPerOwner: number | null
  readonly #owners = new Map<Owner, Usage>()
  /** The owners with waiting callers, by their number of slots. */
  readonly #waiting: Set<Usage>[]
  #active = 0

  constructor(max: number, maxPerOwner: number | null) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
    this.#waiting = Array.from({ length: (maxPerOwner ?? max) + 1 }, () => new Set())
  }

  get isFull(): boolean {
    return this.#active === this.#max
  }

  /** Runs `work` in a slot of the owner. @throws the signal's reason when aborted while waiting */
  async run<T>(owner: Owner, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const release = await this.acquire(owner, {}, signal)
    try {
      return await work()
    } finally {
      release?.()
    }
  }

  /**
   * Waits for a slot of the owner. Resolves with a function that releases it, to be called once; null after `maxWaitMs`, or immediately
   * if `maxWaiting` callers of the owner are waiting. @throws the signal's reason when aborted while waiting
   */
  async acquire(id: Owner, limits: WaitLimits = {}, signal?: AbortSignal): Promise<(() => void) | null> {
    const { maxWaitMs = Infinity, maxWaiting = Infinity } = limits
    signal?.throwIfAborted()
    const owner = this.#owners.get(id) ?? { active: 0, waiting: [] }
    this.#owners.set(id, owner)
    if (owner.waiting.length === 0 && this.#mayStart(owner)) this.#change(owner, 1)
    else if (owner.waiting.length >= maxWaiting || !(await this.#wait(owner, maxWaitMs, signal))) {
      this.#deleteUnused(id, owner)
      signal?.throwIfAborted()
      return null
    }
    return () => this.#release(id, owner)
  }

  /** Resolves to true when `#startWaiting` has taken a slot for the caller; to false after `maxWaitMs`, or when the signal aborts. */
  #wait(owner: Usage, maxWaitMs: number, signal?: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const start = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(true)
    }
    const stop = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      owner.waiting.splice(owner.waiting.indexOf(start), 1)
      if (owner.waiting.length === 0) this.#waiting[owner.active]?.delete(owner)
      resolve(false)
    }
    const timer = maxWaitMs < Infinity ? setTimeout(stop, maxWaitMs) : undefined
    signal?.addEventListener('abort', stop)
    owner.waiting.push(start)
    this.#waiting[owner.active]?.add(owner)
    return promise
  }

  #release(id: Owner, owner: Usage): void {
    this.#change(owner, -1)
    this.#startWaiting()
    this.#deleteUnused(id, owner)
  }

  #deleteUnused(id: Owner, owner: Usage): void {
    if (owner.active === 0 && owner.waiting.length === 0) this.#owners.delete(id)
  }

  #startWaiting(): void {
    for (;;) {
      const [owner] = this.#waiting.find((owners) => owners.size > 0) ?? []
      // If this owner may not have another slot, no owner with more slots may.
      if (!owner || !this.#mayStart(owner)) return
      const start = owner.waiting.shift()
      this.#change(owner, 1)
      start?.()
    }
  }

  #change(owner: Usage, slots: 1 | -1): void {
    this.#waiting[owner.active]?.delete(owner)
    owner.active += slots
    this.#active += slots
    if (owner.waiting.length > 0) this.#waiting[owner.active]?.add(owner)
  }

  #mayStart({ active }: Usage): boolean {
    if (this.#maxPerOwner === null) return !this.isFull
    const share = Math.ceil((this.#max - this.#active) / this.#maxPerOwner)
    return active < Math.min(share, this.#maxPerOwner)
  }
}
