import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { polledVersionQuery } from '../../api/version.ts'

/** `code` and `reference` of the version in the URL. */
export function useVersionParams(): { code: string; reference: string } {
  const { squidName, squidSlot } = useParams({ from: '/app/squids/$squidName/$squidSlot' })
  return { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
}

/** The polled query of the version in the URL. */
export const useVersionQuery = () => useQuery(polledVersionQuery(useVersionParams()))

/** The version of the page. Only for tabs of `VersionPage`, which renders them after it has loaded the version. */
export function useVersion(): Squid {
  const { data } = useVersionQuery()
  if (!data) throw new Error('useVersion was called outside the version page')
  return data
}
