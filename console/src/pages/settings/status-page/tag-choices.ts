import type { SquidSummary, StatusPageTag } from '@shoal/contract'

type Tag = Pick<StatusPageTag, 'squid' | 'tag'>

/** A tag of a squid, as users write it: `name:tag`. */
export const tagKey = ({ squid, tag }: Tag): string => `${squid}:${tag}`

/** The tags that the user can select, sorted: those of versions, and those in `shown`, which are on the page but may no longer exist. */
export function tagChoices(squids: readonly Pick<SquidSummary, 'name' | 'tags'>[], shown: readonly Tag[]): Tag[] {
  const existing = squids.flatMap(({ name, tags }) => tags.map((tag) => ({ squid: name, tag: tag.name })))
  const all = new Map([...existing, ...shown].map(({ squid, tag }) => [tagKey({ squid, tag }), { squid, tag }]))
  return [...all.values()].toSorted((a, b) => tagKey(a).localeCompare(tagKey(b)))
}

/** The tags of the page with or without this tag. An added tag has the squid's name as its public name. */
export const withTag = (tags: readonly StatusPageTag[], { squid, tag }: Tag, isOn: boolean): StatusPageTag[] =>
  isOn ? [...tags, { squid, tag, name: squid }] : tags.filter((other) => tagKey(other) !== tagKey({ squid, tag }))
