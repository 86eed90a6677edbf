import { isDeploying, type Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { pollWhile } from '../../api/poll.ts'
import { q } from '../../api/query.ts'

/** Polls every second while a deployment runs (spec 9), otherwise every five seconds. */
const refetchInterval = pollWhile<Squid>(isDeploying, { fastMs: 1000, slowMs: 5000 })

/** `code` and `reference` of the version in the URL. */
export function useVersionParams(): { code: string; reference: string } {
  const { squidName, squidSlot } = useParams({ from: '/app/squids/$squidName/$squidSlot' })
  return { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
}

export const useVersionQuery = () => useQuery(q('squids.get', { params: useVersionParams() }, { refetchInterval }))

/** The version of the page. Only for tabs of `VersionPage`, which renders them after it has loaded the version. */
export function useVersion(): Squid {
  const { data } = useVersionQuery()
  if (!data) throw new Error('useVersion was called outside the version page')
  return data
}
