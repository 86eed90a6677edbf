import type { RpcChainType } from '@shoal/contract'
import { NETWORKS } from '@subsquid/manifest'
import type { App } from '../../app.ts'
import { oncePerProcess } from '../../collections/once-per.ts'
import { evmChains } from './evm-chains.gen.ts'
import { readRpcConfig, type ChainSettings, type UpstreamSettings } from './rpc-config.ts'
import { substrateTestnets, substrateTitles } from './substrate-chains.ts'

/** A chain of this installation. Most chains that are not EVM chains have no upstreams until the operator configures some. */
export type Chain = {
  id: string
  title: string
  iconUrl: string | null
  type: RpcChainType
  isTestnet: boolean
  /** Whether manifests may name the chain in the addon `rpc`. */
  isInManifests: boolean
  /** Null for chains that are not EVM chains. Nodes that report another id are not used. */
  chainId: number | null
  /** The distance between the head and the newest final block if nodes do not report finality; null if unknown. */
  finalityBlocks: number | null
  /** The interval of head checks. */
  headPollMs: number
  upstreams: UpstreamSettings[]
}

/** The facts about an EVM network that need no configuration. */
export type EvmFacts = { title: string; chainId: number; isTestnet: boolean; publicUrls: string[] }

const devnetChain = 'devnet'

/** Maximum number of requests per second to a public node. */
const publicRate = 10
/** The interval of head checks of public nodes, which must not be polled often. */
const publicHeadPollMs = 4_000
/** The default interval of head checks of nodes that the operator has configured. */
const ownHeadPollMs = 1_000

/** All chains by id, ordered by title. */
export type Chains = { all: () => Chain[]; find: (id: string) => Chain | null }

/**
 * Returns the known networks with the operator's configuration, and the chains that this configuration adds.
 * @throws InvalidSettingError when SHOAL_RPC_CONFIG is not valid
 */
export const chainsOf = oncePerProcess(({ config }: Pick<App, 'config'>): Chains => {
  const settings = config.SHOAL_RPC_CONFIG ? readRpcConfig(config.SHOAL_RPC_CONFIG) : {}
  const byId = chainsById(settings, config.SHOAL_DEVNET_URL)
  return { all: () => [...byId.values()], find: (id) => byId.get(id) ?? null }
})

function chainsById(settings: Record<string, ChainSettings>, devnetUrl?: string): Map<string, Chain> {
  const chains = NETWORKS.flatMap((n) => n.endpoints).map(({ name, type }) => {
    const id = name.replace(/\.http$/, '')
    return { ...withSettings(defaultChain(id, type, evmChains[id]), settings[id]), isInManifests: true }
  })
  const networkIds = new Set(chains.map((c) => c.id))
  for (const [id, overrides] of Object.entries(settings))
    if (!networkIds.has(id)) chains.push(withSettings(defaultChain(id, overrides.type ?? 'evm', undefined), overrides))
  if (devnetUrl && !settings[devnetChain]) chains.push(createDevnet(devnetUrl))
  chains.sort((a, b) => a.title.localeCompare(b.title))
  return new Map(chains.map((c) => [c.id, c]))
}

const publicPrefix = 'public '

/** Whether the upstream is a public node that Shoal knows, instead of one that the operator has configured. */
export const isPublicNode = ({ name }: Pick<UpstreamSettings, 'name'>): boolean => name.startsWith(publicPrefix)

function defaultChain(id: string, type: RpcChainType, facts: EvmFacts | undefined): Chain {
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
      name: `${publicPrefix}${index + 1}`,
      url,
      headers: {},
      rate: publicRate,
      priority: index,
      archive: false,
      batch: 20,
    })),
  }
}

function withSettings(chain: Chain, overrides: ChainSettings | undefined): Chain {
  if (!overrides) return chain
  return {
    ...chain,
    title: overrides.title ?? chain.title,
    iconUrl: overrides.iconUrl ?? chain.iconUrl,
    type: overrides.type ?? chain.type,
    isTestnet: overrides.testnet ?? chain.isTestnet,
    chainId: overrides.chainId ?? chain.chainId,
    finalityBlocks: overrides.finality ?? chain.finalityBlocks,
    headPollMs: overrides.headPollMs ?? (overrides.upstreams ? ownHeadPollMs : chain.headPollMs),
    upstreams: overrides.upstreams ? withNames(overrides.upstreams) : chain.upstreams,
  }
}

const withNames = (upstreams: NonNullable<ChainSettings['upstreams']>): UpstreamSettings[] =>
  upstreams.map((u, index) => ({ ...u, name: u.name ?? `upstream ${index + 1}` }))

const createDevnet = (url: string): Chain => ({
  ...defaultChain(devnetChain, 'evm', undefined),
  isTestnet: true,
  headPollMs: 500,
  upstreams: [{ name: devnetChain, url, headers: {}, priority: 0, archive: true, batch: 100 }],
})

const titleOf = (id: string) =>
  id
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join(' ')
