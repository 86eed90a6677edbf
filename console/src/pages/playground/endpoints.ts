import type { Squid } from '@shoal/contract'

export type PlaygroundEndpoint = { id: string; label: string; url: string }

/** The addresses of a version's API: by its tags, and last by its slot, which never changes (spec 2.9). */
export function endpointsOf({ api, slot }: Pick<Squid, 'api' | 'slot'>): PlaygroundEndpoint[] {
  const urls = api?.urls ?? []
  const tags = urls.flatMap(({ type, name, url }) =>
    type === 'tag' && name !== undefined ? [{ id: name, label: `Tag ${name}`, url }] : [],
  )
  const canonical = urls.find(({ type }) => type === 'canonical')
  // A slot's id cannot be a tag's name.
  return canonical ? [...tags, { id: `@${slot}`, label: `Slot ${slot}`, url: canonical.url }] : tags
}
