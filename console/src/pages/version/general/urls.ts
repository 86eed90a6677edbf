import type { Squid } from '@shoal/contract'

export type SquidUrl = NonNullable<Squid['api']>['urls'][number]
export type UrlGroup = { title: string; urls: SquidUrl[]; note?: string }

/** The first spec version of manifests whose canonical URLs are immutable (spec 2.9). */
const immutableFromSpec = 4

/** The URLs of a version, grouped by type, with a note about some types (spec 2.9). Types without URLs are omitted. */
export function urlGroups({ api, addons, spec }: Pick<Squid, 'api' | 'addons' | 'spec'>): UrlGroup[] {
  const all = [...(api?.urls ?? []), ...(addons.hasura?.urls ?? [])]
  const urlsOfType = (type: SquidUrl['type']) => all.filter((url) => url.type === type)
  const groups: UrlGroup[] = [
    { title: 'Tag URLs', urls: urlsOfType('tag') },
    {
      title: 'Production URL',
      urls: urlsOfType('prod_alias'),
      note: 'Deprecated: this alias of the tag prod will be removed. Use the URL of the tag instead.',
    },
    {
      title: 'Canonical URL',
      urls: urlsOfType('canonical'),
      ...(spec >= immutableFromSpec && {
        note: 'Immutable: it always points at this slot. Use a tag for a stable URL that can move to another version.',
      }),
    },
  ]
  return groups.filter(({ urls }) => urls.length > 0)
}
