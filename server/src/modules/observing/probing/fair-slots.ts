/** `active`: the number of slots of the owner; `waiting`: its callers that wait for a slot, in the order of their calls. */
type Owner = { active: number; waiting: (() => void)[] }

/**
 * Limits concurrency, and shares the slots between owners. The more slots are in use, the fewer an owner may have, but always one if any is
 * free: owners whose work takes long therefore leave slots for the others. A slot that becomes free goes to the waiting owner with the
 * fewest slots.
 */
export class FairSlots {
  readonly #max: number
  readonly #maxPerOwner: number
  readonly #owners = new Map<number, Owner>()
  /** The owners with waiting callers, by their number of slots. */
  readonly #waiting: Set<Owner>[]
  #active = 0

  constructor(max: number, maxPerOwner: number) {
    this.#max = max
    this.#maxPerOwner = maxPerOwner
    this.#waiting = Array.from({ length: maxPerOwner + 1 }, () => new Set())
  }

  /** Runs `work` in a slot of the owner. */
  async run<T>(owner: number, work: () => Promise<T>): Promise<T> {
    await this.#acquire(owner)
    try {
      return await work()
    } finally {
      this.#release(owner)
    }
  }

  async #acquire(id: number): Promise<void> {
    const owner = this.#owners.get(id) ?? { active: 0, waiting: [] }
    this.#owners.set(id, owner)
    if (owner.waiting.length === 0 && this.#mayStart(owner)) return this.#change(owner, 1)
    // `#startWaiting` takes the slot.
    await new Promise<void>((resolve) => {
      owner.waiting.push(resolve)
      this.#waiting[owner.active]?.add(owner)
    })
  }

  #release(id: number): void {
    const owner = this.#owners.get(id)
    if (!owner) return
    this.#change(owner, -1)
    this.#startWaiting()
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

  #change(owner: Owner, slots: 1 | -1): void {
    this.#waiting[owner.active]?.delete(owner)
    owner.active += slots
    this.#active += slots
    if (owner.waiting.length > 0) this.#waiting[owner.active]?.add(owner)
  }

  #mayStart({ active }: Owner): boolean {
    const share = Math.ceil((this.#max - this.#active) / this.#maxPerOwner)
    return active < Math.min(share, this.#maxPerOwner)
  }
}
