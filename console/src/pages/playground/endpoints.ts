import type { SquidSummary } from '@shoal/contract'

export type PlaygroundEndpoint = { id: string; label: string; url: string }

/** The URLs of a version's API: one for each tag, and last the one for its slot, which never changes (spec 2.9). */
export function endpointsOf({ api, slot }: Pick<SquidSummary, 'api' | 'slot'>): PlaygroundEndpoint[] {
  const urls = api?.urls ?? []
  const tags = urls.flatMap(({ type, name, url }) =>
    type === 'tag' && name !== undefined ? [{ id: name, label: `Tag ${name}`, url }] : [],
  )
  const canonical = urls.find(({ type }) => type === 'canonical')
  // `@` is not allowed in tag names, so this id differs from all tags.
  return canonical ? [...tags, { id: `@${slot}`, label: `Slot ${slot}`, url: canonical.url }] : tags
}
