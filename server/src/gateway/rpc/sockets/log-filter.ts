/** Selects the logs of a subscription by address and by the topic at each position. */
export type EventLogFilter = {
  /** Addresses in lower case; null matches any address. */
  addresses: ReadonlySet<string> | null
  /** Topics in lower case by position; null matches any topic. */
  topics: readonly (ReadonlySet<string> | null)[]
}

/** Maximum number of addresses, and of topics at each position. */
const maxChoices = 1_000
const address = /^0x[0-9a-fA-F]{40}$/
const topic = /^0x[0-9a-fA-F]{64}$/

/** Parses the `logs` parameter of `eth_subscribe`; `invalid` is a message for the client. */
export function parseLogFilter(input: unknown): EventLogFilter | { invalid: string } {
  if (input !== undefined && input !== null && (typeof input !== 'object' || Array.isArray(input)))
    return { invalid: 'the filter must be an object with address and topics' }
  const { address: addresses, topics = [] } = (input ?? {}) as Record<string, unknown>
  const addressSet = parseChoices(addresses, address)
  if (addressSet === 'invalid') return { invalid: `address must be an address or up to ${maxChoices} of them` }
  if (topics !== null && (!Array.isArray(topics) || topics.length > 4))
    return { invalid: 'topics must be an array of up to 4 positions' }
  const topicSets: EventLogFilter['topics'][number][] = []
  for (const position of (topics ?? []) as unknown[]) {
    const choices = parseChoices(position, topic)
    if (choices === 'invalid')
      return { invalid: `each position of topics must be null, a 32-byte hash, or up to ${maxChoices} of them` }
    topicSets.push(choices)
  }
  return { addresses: addressSet, topics: topicSets }
}

/** Returns null if the value is missing or an empty list, and does not restrict the logs. */
function parseChoices(value: unknown, pattern: RegExp): Set<string> | null | 'invalid' {
  if (value === undefined || value === null) return null
  const values = Array.isArray(value) ? (value as unknown[]) : [value]
  if (values.length > maxChoices) return 'invalid'
  const parsed = new Set<string>()
  for (const choice of values) {
    if (typeof choice !== 'string' || !pattern.test(choice)) return 'invalid'
    parsed.add(choice.toLowerCase())
  }
  return parsed.size === 0 ? null : parsed
}

/** Whether the filter selects the log, whose address and topics are in lower case. */
export function matchesEventLog(filter: EventLogFilter, log: { address: string; topics: readonly string[] }): boolean {
  if (filter.addresses && !filter.addresses.has(log.address)) return false
  // A log must have as many topics as the filter has positions, even for positions that match any topic.
  if (filter.topics.length > log.topics.length) return false
  return filter.topics.every((allowed, i) => allowed === null || allowed.has(log.topics[i] ?? ''))
}

/** Returns a key that is equal for filters that select the same logs. */
export function keyOfFilter({ addresses, topics }: EventLogFilter): string {
  const toText = (set: ReadonlySet<string> | null) => (set === null ? '*' : [...set].sort().join())
  return [addresses, ...topics].map(toText).join(' ')
}
