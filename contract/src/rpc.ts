import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Time, TimeParam } from './fields.ts'

export const rpcChainTypes = ['evm', 'substrate', 'solana'] as const
export type RpcChainType = (typeof rpcChainTypes)[number]

// In a separate file, so that the page of a chain does not load zod.
export { rpcTokenPlaceholder } from './rpc-token.ts'

export const RpcChain = z.object({
  /** The network name as in manifests, but without the suffix `.http`: `eth` for `eth.http`. */
  id: z.string(),
  title: z.string(),
  /** A URL, or a path on this origin. Null if there is no icon; the console then shows the first letter of the title. */
  iconUrl: z.string().nullable(),
  type: z.enum(rpcChainTypes),
  testnet: z.boolean(),
  /** Requests of this organization in this calendar month; a decimal string, as in SQD Cloud. */
  requests: z.string(),
  /** Contains `{TOKEN}`. */
  url: z.string(),
})
export type RpcChain = z.infer<typeof RpcChain>

/** The latest state of a node of a chain, as a gateway observed it. The URL of the node is never exposed. */
export const RpcUpstream = z.object({
  name: z.string(),
  isHealthy: z.boolean(),
  isArchive: z.boolean(),
  /** The highest head whose block the node has also returned; null until it has returned one. */
  headBlock: z.number().nullable(),
  finalizedBlock: z.number().nullable(),
  latencyP50Ms: z.number().nullable(),
  latencyP95Ms: z.number().nullable(),
  /** Why the node is unhealthy, in one sentence. */
  reason: z.string().nullable(),
  observedAt: Time,
})
export type RpcUpstream = z.infer<typeof RpcUpstream>

export const rpcTimeGroups = ['Hour', 'Day'] as const

export const RpcChainDetails = RpcChain.extend({
  /** Null for chains other than EVM chains. */
  chainId: z.number().nullable(),
  /** Its name in `deploy.addons.rpc` of manifests, such as `eth.http`; null for a chain that manifests cannot use. */
  manifestName: z.string().nullable(),
  /** Whether this installation has an upstream for the chain. */
  isConfigured: z.boolean(),
  headBlock: z.number().nullable(),
  finalizedBlock: z.number().nullable(),
  /** Empty until a gateway has polled the nodes. This call triggers a poll: call again after a second. */
  upstreams: z.array(RpcUpstream),
  timeGroup: z.enum(rpcTimeGroups),
  /** Ordered by time, then by method; periods without requests are omitted. */
  metrics: z.array(z.object({ ts: Time, method: z.string(), requests: z.number(), failures: z.number() })),
})
export type RpcChainDetails = z.infer<typeof RpcChainDetails>

export const rpc = {
  listChains: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/chains',
    access: 'member',
    scope: 'read',
    summary: "RPC endpoints with the organization's usage this month",
    payload: z.array(RpcChain),
  }),
  getChain: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/chains/{id}',
    access: 'member',
    scope: 'read',
    summary:
      'One RPC endpoint: the health and head of its nodes, and its requests by method over time (the last 7 days by default)',
    query: { from: TimeParam.optional(), to: TimeParam.optional() },
    payload: RpcChainDetails,
  }),
  getIcon: endpoint({
    method: 'GET',
    path: '/v1/icons/{title}',
    access: 'public',
    summary: 'Icon of a chain or dataset as SVG, generated from its title',
    kind: 'file',
    payload: z.null(),
  }),
  getToken: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/token',
    access: 'credentials.read',
    scope: 'admin',
    summary: 'The RPC token of the organization',
    payload: z.object({ token: z.string() }),
  }),
  createToken: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/rpc/token',
    access: 'rpc.write',
    scope: 'admin',
    summary: 'Replace the RPC token; the previous one stops working immediately',
    payload: z.object({ token: z.string() }),
    rateLimit: { calls: 30, perMs: 600_000 },
  }),
}
