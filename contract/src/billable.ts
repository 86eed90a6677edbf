/**
 * A billed resource, parsed from the `type` of a receipt item: a program with its profile (`api.small`), the flat price of a
 * collocated version (`collocated`), GB-hours of a database (`storage`), millions of RPC requests (`rpc`). Spec 3.
 */
export type Billable = { resource: string; profile: string | null }

/** Programs that are priced by profile. The price list has `hasura` only if the installation offers it. */
export const pricedPrograms = ['api', 'processor', 'postgres', 'hasura'] as const

/** Parses the `type` of a receipt item, such as `api.small` or `rpc`. */
export function billableOf(type: string): Billable {
  const [resource = '', profile = null] = type.split('.')
  return { resource, profile }
}

const names: Record<string, string> = {
  api: 'API',
  processor: 'Processor',
  hasura: 'Hasura addon',
  postgres: 'Postgres addon',
  collocated: 'Collocated squid',
  storage: 'Postgres SSD storage (GB per hour)',
  rpc: 'RPC requests (1M)',
}

/** Returns the display name of a receipt item's `type`: `API, small` for `api.small`. */
export function billableLabel(type: string): string {
  const { resource, profile } = billableOf(type)
  const name = names[resource] ?? resource
  return profile ? `${name}, ${profile}` : name
}
