import { rpcTokenPlaceholder, type RpcChainType } from '@shoal/contract'
import { NETWORKS } from '@subsquid/manifest'
import type { App } from '../../app.ts'
import type { Config } from '../../config/config.ts'
import { evmFacts, type EvmFacts } from './evm-chains.ts'
import { readRpcConfig, type ChainSettings, type UpstreamSettings } from './rpc-config.ts'
import { substrateTestnets, substrateTitles } from './substrate-chains.ts'

/** A chain of this installation with its upstreams; most chains that are not EVM have none until they are configured. */
export type Chain = {
  id: string
  title: string
  iconUrl: string | null
  type: RpcChainType
  isTestnet: boolean
  /** The `rpc` addon of manifests has it. */
  isInManifests: boolean
  /** Of EVM chains; nodes that report another id are not used. */
  chainId: number | null
  finalityBlocks: number | null
  headPollMs: number
  upstreams: UpstreamSettings[]
}

const devnetChain = 'devnet'

/** Limit of requests per second to public nodes. */
const publicRate = 10
const publicHeadPollMs = 4_000
const ownHeadPollMs = 1_000

/** All chains by id, ordered by title. */
export type Chains = { all: () => Promise<Chain[]>; find: (id: string) => Promise<Chain | null> }

const ofApps = new WeakMap<Config, Chains>()

/**
 * The network names of contract 6.5 with their configuration, and the chains that the configuration adds.
 * @throws Error immediately when SHOAL_RPC_CONFIG is not valid
 */
export function chainsOf({ config }: Pick<App, 'config'>): Chains {
  const before = ofApps.get(config)
  if (before) return before
  const settings = config.SHOAL_RPC_CONFIG ? readRpcConfig(config.SHOAL_RPC_CONFIG) : {}
  let loading: Promise<Map<string, Chain>> | null = null
  const load = () => (loading ??= loadChains(settings, config.SHOAL_DEVNET_URL))
  const chains: Chains = {
    all: async () => [...(await load()).values()],
    find: async (id) => (await load()).get(id) ?? null,
  }
  ofApps.set(config, chains)
  return chains
}

async function loadChains(settings: Record<string, ChainSettings>, devnetUrl?: string): Promise<Map<string, Chain>> {
  const evm = await evmFacts()
  const chains = NETWORKS.flatMap((n) => n.endpoints).map(({ name, type }) => {
    const id = name.replace(/\.http$/, '')
    return { ...configured(shipped(id, type, evm.get(id)), settings[id]), isInManifests: true }
  })
  const shippedIds = new Set(chains.map((c) => c.id))
  for (const [id, own] of Object.entries(settings))
    if (!shippedIds.has(id)) chains.push(configured(shipped(id, own.type ?? 'evm', undefined), own))
  if (devnetUrl && !settings[devnetChain]) chains.push(devnet(devnetUrl))
  chains.sort((a, b) => a.title.localeCompare(b.title))
  return new Map(chains.map((c) => [c.id, c]))
}

function shipped(id: string, type: RpcChainType, facts: EvmFacts | undefined): Chain {
  return {
    id,
    title: facts?.title ?? substrateTitles[id] ?? titleOf(id),
    iconUrl: null,
    type,
    isTestnet: facts?.isTestnet ?? substrateTestnets.has(id),
    isInManifests: false,
    chainId: facts?.chainId ?? null,
    finalityBlocks: null,
    headPollMs: publicHeadPollMs,
    upstreams: (facts?.publicUrls ?? []).map((url, index) => ({
      name: `public ${index + 1}`,
      url,
      headers: {},
      rate: publicRate,
      priority: index,
      archive: false,
      batch: 20,
    })),
  }
}

function configured(chain: Chain, own: ChainSettings | undefined): Chain {
  if (!own) return chain
  return {
    ...chain,
    title: own.title ?? chain.title,
    iconUrl: own.iconUrl ?? chain.iconUrl,
    type: own.type ?? chain.type,
    isTestnet: own.testnet ?? chain.isTestnet,
    chainId: own.chainId ?? chain.chainId,
    finalityBlocks: own.finality ?? chain.finalityBlocks,
    headPollMs: own.headPollMs ?? (own.upstreams ? ownHeadPollMs : chain.headPollMs),
    upstreams: own.upstreams ? named(own.upstreams) : chain.upstreams,
  }
}

const named = (upstreams: NonNullable<ChainSettings['upstreams']>): UpstreamSettings[] =>
  upstreams.map((u, index) => ({ ...u, name: u.name ?? `upstream ${index + 1}` }))

const devnet = (url: string): Chain => ({
  ...shipped(devnetChain, 'evm', undefined),
  isTestnet: true,
  headPollMs: 500,
  upstreams: [{ name: devnetChain, url, headers: {}, priority: 0, archive: true, batch: 100 }],
})

const titleOf = (id: string) =>
  id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')

/** The URL of a chain; `token` may be the placeholder of spec 2.11. */
export function rpcUrlOf(config: Config, orgCode: string, chain: string, token: string = rpcTokenPlaceholder): string {
  return `${gatewayRootOf(config, orgCode)}/rpc/${chain}/${token}`
}

/** The gateway's base URL, for addresses of squids by path or host of the organization. */
export const gatewayRootOf = (config: Config, orgCode: string): string =>
  config.gatewayUrl.replace(/^(\w+:\/\/[^/]*).*$/, '$1').replaceAll('{org}', orgCode)
