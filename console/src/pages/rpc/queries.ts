import { can, type Org, type RpcChainDetails } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { pollWhile } from '../../api/poll.ts'
import { q } from '../../api/query.ts'
import { membershipOf } from '../../components/access.tsx'

/** The chains that have an endpoint, sorted by name, with the requests of this month. */
export const chainsQuery = (code: string) => q('rpc.listChains', { params: { code } }, { staleTime: 10_000 })

/** Gateways probe upstreams only when a user opens the page, so the first response may contain none. */
const refetchInterval = pollWhile<RpcChainDetails>((chain) => chain.isConfigured && chain.upstreams.length === 0, {
  fastMs: 1_000,
  slowMs: 3_000,
  slowAfterMs: 60_000,
})

/** One chain, with its upstreams and requests. */
export const chainQuery = (code: string, id: string) => q('rpc.getChain', { params: { code, id } }, { refetchInterval })

/** The RPC token of the organization. Users need the permission `credentials.read`. */
export const tokenQuery = (code: string) => q('rpc.getToken', { params: { code } })

/** Starts to fetch the RPC token, if the user has the permission. */
export function prefetchToken(client: QueryClient, org: Org): void {
  if (can(membershipOf(org), 'credentials.read')) void client.prefetchQuery(tokenQuery(org.code))
}
