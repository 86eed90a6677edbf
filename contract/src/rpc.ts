import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { Time, TimeParam } from './fields.ts'

export const rpcChainTypes = ['evm', 'substrate', 'solana'] as const
export type RpcChainType = (typeof rpcChainTypes)[number]

// Apart from the schemas, so that the page of a chain carries no zod.
export { rpcTokenPlaceholder } from './rpc-token.ts'

export const RpcChain = z.object({
  /** The network name of manifests without `.http` (contract 6.5). */
  id: z.string(),
  title: z.string(),
  /** An address, or a path of this origin. Null: show the first letter of the title. */
  iconUrl: z.string().nullable(),
  type: z.enum(rpcChainTypes),
  testnet: z.boolean(),
  /** Of this organization in this calendar month; a decimal string, as upstream has it. */
  requests: z.string(),
  /** Holds `{TOKEN}`. */
  url: z.string(),
})
export type RpcChain = z.infer<typeof RpcChain>

/** One of the nodes behind a chain, as a gateway last saw it. Its address is never told. */
export const RpcUpstream = z.object({
  name: z.string(),
  isHealthy: z.boolean(),
  isArchive: z.boolean(),
  /** The highest block it has shown; null before the first answer. */
  headBlock: z.number().nullable(),
  finalizedBlock: z.number().nullable(),
  latencyP50Ms: z.number().nullable(),
  latencyP95Ms: z.number().nullable(),
  /** Why it is not healthy, in one sentence. */
  reason: z.string().nullable(),
  observedAt: Time,
})
export type RpcUpstream = z.infer<typeof RpcUpstream>

export const rpcTimeGroups = ['Hour', 'Day'] as const

export const RpcChainDetails = RpcChain.extend({
  /** Of EVM chains. */
  chainId: z.number().nullable(),
  /** What manifests name it in `deploy.addons.rpc`, as in `eth.http`; null for a chain they do not know. */
  manifestName: z.string().nullable(),
  /** Whether this installation has any upstream for it. */
  isConfigured: z.boolean(),
  headBlock: z.number().nullable(),
  finalizedBlock: z.number().nullable(),
  /** Empty until a gateway has looked, which this call makes it do: ask again after a second. */
  upstreams: z.array(RpcUpstream),
  timeGroup: z.enum(rpcTimeGroups),
  /** Ordered by time, then by method; times without requests are left out. */
  metrics: z.array(z.object({ ts: Time, method: z.string(), requests: z.number(), failures: z.number() })),
})
export type RpcChainDetails = z.infer<typeof RpcChainDetails>

export const rpc = {
  listChains: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/chains',
    access: 'member',
    summary: 'RPC endpoints, and how much the organization used each this month',
    payload: z.array(RpcChain),
  }),
  getChain: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/chains/{id}',
    access: 'member',
    summary:
      'One RPC endpoint: health and head of its nodes, requests by method over time (the last 7 days by default)',
    query: { from: TimeParam.optional(), to: TimeParam.optional() },
    payload: RpcChainDetails,
  }),
  getIcon: endpoint({
    method: 'GET',
    path: '/v1/icons/{title}',
    access: 'public',
    summary: 'The mark of a chain or dataset as SVG, made from its title',
    kind: 'file',
    payload: z.null(),
  }),
  getToken: endpoint({
    method: 'GET',
    path: '/v1/orgs/{code}/rpc/token',
    access: 'credentials.read',
    summary: 'The RPC token of the organization',
    payload: z.object({ token: z.string() }),
  }),
  createToken: endpoint({
    method: 'POST',
    path: '/v1/orgs/{code}/rpc/token',
    access: 'rpc.write',
    summary: 'Replace the RPC token; the one before stops working at once',
    payload: z.object({ token: z.string() }),
    tooManyAfter: { calls: 30, perMs: 600_000 },
  }),
}
