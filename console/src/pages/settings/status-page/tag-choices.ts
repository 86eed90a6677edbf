import type { SquidSummary, StatusPageTag } from '@shoal/contract'

type Tag = Pick<StatusPageTag, 'squid' | 'tag'>

/** `name:tag`, as users write it. */
export const tagKey = ({ squid, tag }: Tag): string => `${squid}:${tag}`

/** All tags that the page may show: those of squids, and those that it shows already although they no longer exist. Sorted. */
export function taggedSquids(squids: readonly Pick<SquidSummary, 'name' | 'tags'>[], shown: readonly Tag[]): Tag[] {
  const existing = squids.flatMap(({ name, tags }) => tags.map((tag) => ({ squid: name, tag: tag.name })))
  const all = new Map([...existing, ...shown].map(({ squid, tag }) => [tagKey({ squid, tag }), { squid, tag }]))
  return [...all.values()].toSorted((a, b) => tagKey(a).localeCompare(tagKey(b)))
}

/** Puts a tag onto the page, with the squid's name as its first name, or takes it off. */
export const changeTags = (tags: readonly StatusPageTag[], { squid, tag }: Tag, isOn: boolean): StatusPageTag[] =>
  isOn ? [...tags, { squid, tag, name: squid }] : tags.filter((other) => tagKey(other) !== tagKey({ squid, tag }))
