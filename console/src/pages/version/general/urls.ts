import type { Squid } from '@shoal/contract'

export type SquidUrl = NonNullable<Squid['api']>['urls'][number]
export type UrlGroup = { title: string; urls: SquidUrl[]; note?: string }

/** Canonical URLs are immutable from this spec version on (spec 2.9). */
const immutableFromSpec = 4

/** Spec 2.9: the URLs of a version by kind, with a note. Empty kinds are left out. */
export function urlGroups({ api, addons, spec }: Pick<Squid, 'api' | 'addons' | 'spec'>): UrlGroup[] {
  const all = [...(api?.urls ?? []), ...(addons.hasura?.urls ?? [])]
  const of = (type: SquidUrl['type']) => all.filter((url) => url.type === type)
  const groups: UrlGroup[] = [
    { title: 'Tag URLs', urls: of('tag') },
    {
      title: 'Production URL',
      urls: of('prod_alias'),
      note: 'Deprecated: this alias of the tag prod will be removed. Use the URL of the tag instead.',
    },
    {
      title: 'Canonical URL',
      urls: of('canonical'),
      ...(spec >= immutableFromSpec && {
        note: 'Immutable: it always points at this slot. Use a tag for a stable URL that can move to another version.',
      }),
    },
  ]
  return groups.filter(({ urls }) => urls.length > 0)
}
