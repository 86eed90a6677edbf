import type { Squid } from '@shoal/contract'

type TaggedVersion = Pick<Squid, 'id' | 'name' | 'reference' | 'tags'>

/** Maps the tags of the other versions of the same squid to the references of these versions. */
export function tagsOfOtherVersions(
  versions: readonly TaggedVersion[],
  current: Pick<Squid, 'id' | 'name'>,
): Map<string, string> {
  const others = versions.filter(({ id, name }) => name === current.name && id !== current.id)
  return new Map(others.flatMap(({ tags, reference }) => tags.map(({ name }) => [name, reference] as const)))
}
