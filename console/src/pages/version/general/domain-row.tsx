import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../../api/active-org.ts'
import type { PageContext } from '../../../api/prefetch.ts'
import { onlyIf, q } from '../../../api/query.ts'
import type { KeyValueRow } from '../../../ui/Card.tsx'
import { UrlList } from './UrlList.tsx'

const domainsQuery = (code: string) => q('domains.list', { params: { code } }, { staleTime: 60_000 })

/** Whether domains can serve the version: a playground has no domains, and a domain serves a tag. */
const canHaveDomains = (squid: Pick<Squid, 'tags'>, isPlayground: boolean) => !isPlayground && squid.tags.length > 0

/** Starts to fetch the domains, if they can serve the version. */
export function prefetchDomains(
  { client, org }: Pick<PageContext, 'client' | 'org'>,
  squid: Pick<Squid, 'tags'>,
): void {
  if (canHaveDomains(squid, org.limits.playground)) void client.prefetchQuery(domainsQuery(org.code))
}

/** The row with the domains that serve a tag of the version; null while loading, or if no domain can serve the version. */
export function useDomainRow(squid: Squid): KeyValueRow | null {
  const { code, limits } = useOrg()
  const { data } = useQuery(onlyIf(canHaveDomains(squid, limits.playground), domainsQuery(code)))
  if (!data || data.gatewayName === null) return null
  const urls = data.domains
    .filter(({ squid: name, tag, state }) => state === 'ACTIVE' && name === squid.name && hasTag(squid, tag))
    .map(({ name }) => ({ name, type: 'tag' as const, url: `https://${name}/graphql` }))
  return {
    label: 'Domains',
    value: (
      <>
        {urls.length > 0 && <UrlList urls={urls} />}
        <Link to="/settings/domains" className="text-accent hover:underline">
          {urls.length > 0 ? 'Manage domains' : 'Serve a tag at your own domain'}
        </Link>
      </>
    ),
  }
}

const hasTag = ({ tags }: Squid, tag: string): boolean => tags.some(({ name }) => name === tag)
