/** Selects the logs of a subscription: those of one of the addresses whose topics match by position. */
export type LogFilter = {
  /** Null: from any address. Lower case. */
  addresses: ReadonlySet<string> | null
  /** By position; null: any topic there. Lower case. */
  topics: readonly (ReadonlySet<string> | null)[]
}

const maxChoices = 1_000
const address = /^0x[0-9a-fA-F]{40}$/
const topic = /^0x[0-9a-fA-F]{64}$/

/** Parses the `logs` parameter of `eth_subscribe`; `invalid` is a message for the client. */
export function parseLogFilter(given: unknown): LogFilter | { invalid: string } {
  if (given !== undefined && given !== null && (typeof given !== 'object' || Array.isArray(given)))
    return { invalid: 'the filter must be an object with address and topics' }
  const { address: addresses, topics = [] } = (given ?? {}) as Record<string, unknown>
  const ofAddress = choices(addresses, address)
  if (ofAddress === 'invalid') return { invalid: `address must be an address or up to ${maxChoices} of them` }
  if (topics !== null && (!Array.isArray(topics) || topics.length > 4))
    return { invalid: 'topics must be an array of up to 4 positions' }
  const ofTopics: LogFilter['topics'][number][] = []
  for (const position of (topics ?? []) as unknown[]) {
    const found = choices(position, topic)
    if (found === 'invalid')
      return { invalid: `each position of topics must be null, a 32-byte hash, or up to ${maxChoices} of them` }
    ofTopics.push(found)
  }
  return { addresses: ofAddress, topics: ofTopics }
}

/** Null for no restriction, which an empty list means too. */
function choices(given: unknown, shape: RegExp): Set<string> | null | 'invalid' {
  if (given === undefined || given === null) return null
  const list = Array.isArray(given) ? (given as unknown[]) : [given]
  if (list.length > maxChoices) return 'invalid'
  const found = new Set<string>()
  for (const one of list) {
    if (typeof one !== 'string' || !shape.test(one)) return 'invalid'
    found.add(one.toLowerCase())
  }
  return found.size === 0 ? null : found
}

export function matches(filter: LogFilter, log: { address: string; topics: readonly string[] }): boolean {
  if (filter.addresses && !filter.addresses.has(log.address)) return false
  // A log must have as many topics as the filter has positions, even for positions that match any topic.
  if (filter.topics.length > log.topics.length) return false
  return filter.topics.every((allowed, i) => allowed === null || allowed.has(log.topics[i] ?? ''))
}

/** Equal for filters that select the same logs. */
export function keyOfFilter({ addresses, topics }: LogFilter): string {
  const listed = (set: ReadonlySet<string> | null) => (set === null ? '*' : [...set].sort().join())
  return [addresses, ...topics].map(listed).join(' ')
}
