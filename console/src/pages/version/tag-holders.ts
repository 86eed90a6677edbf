import type { Squid } from '@shoal/contract'

type Tagged = Pick<Squid, 'id' | 'name' | 'reference' | 'tags'>

/** Tags of the other versions of the same squid, each with its version. */
export function tagHolders(versions: readonly Tagged[], own: Pick<Squid, 'id' | 'name'>): Map<string, string> {
  const others = versions.filter(({ id, name }) => name === own.name && id !== own.id)
  return new Map(others.flatMap(({ tags, reference }) => tags.map(({ name }) => [name, reference] as const)))
}
