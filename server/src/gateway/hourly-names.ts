/** Name that replaces names beyond the limit. */
const otherName = 'other'

/** Bounds the number of distinct names that callers may introduce per group and hour. */
export class HourlyNames {
  readonly #max: number
  readonly #groups = new Map<string, Set<string>>()
  #hourMs = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Returns the name, or `other` when the group already has the maximum number of distinct names in this hour. */
  limit(hourMs: number, group: string, name: string): string {
    if (hourMs !== this.#hourMs) this.#groups.clear()
    this.#hourMs = hourMs
    const names = this.#groups.get(group) ?? new Set()
    this.#groups.set(group, names)
    if (!names.has(name) && names.size >= this.#max) return otherName
    names.add(name)
    return name
  }
}
