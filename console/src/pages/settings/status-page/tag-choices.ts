import type { SquidSummary, StatusPageTag } from '@shoal/contract'

type Tag = Pick<StatusPageTag, 'squid' | 'tag'>

/** `name:tag`, as users write it. */
export const tagKey = ({ squid, tag }: Tag): string => `${squid}:${tag}`

/** The tags that the user can put on the page, sorted: those of squids, and those on the page that no longer exist. */
export function tagChoices(squids: readonly Pick<SquidSummary, 'name' | 'tags'>[], shown: readonly Tag[]): Tag[] {
  const existing = squids.flatMap(({ name, tags }) => tags.map((tag) => ({ squid: name, tag: tag.name })))
  const all = new Map([...existing, ...shown].map(({ squid, tag }) => [tagKey({ squid, tag }), { squid, tag }]))
  return [...all.values()].toSorted((a, b) => tagKey(a).localeCompare(tagKey(b)))
}

/** Adds a tag to the page, initially with the squid's name as its public name, or removes it. */
export const withTag = (tags: readonly StatusPageTag[], { squid, tag }: Tag, isOn: boolean): StatusPageTag[] =>
  isOn ? [...tags, { squid, tag, name: squid }] : tags.filter((other) => tagKey(other) !== tagKey({ squid, tag }))
