import { can, type Org, type RpcChainDetails } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { pollWhile } from '../../api/poll.ts'
import { q } from '../../api/query.ts'
import { membershipOf } from '../../components/access.tsx'

export const chainsQuery = (code: string) => q('rpc.listChains', { params: { code } }, { staleTime: 10_000 })

/** Gateways probe upstreams on demand, so the first result takes a moment. */
const refetchInterval = pollWhile<RpcChainDetails>((chain) => chain.isConfigured && chain.upstreams.length === 0, {
  fastMs: 1_000,
  slowMs: 3_000,
  slowAfterMs: 60_000,
})

export const chainQuery = (code: string, id: string) => q('rpc.getChain', { params: { code, id } }, { refetchInterval })

/** The API token of the organization. It may be read with the permission `credentials.read`. */
export const tokenQuery = (code: string) => q('rpc.getToken', { params: { code } })

export function prefetchToken(client: QueryClient, org: Org): void {
  if (can(membershipOf(org), 'credentials.read')) void client.prefetchQuery(tokenQuery(org.code))
}
