import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import type { App } from '../../app.ts'
import type { Config } from '../../config/config.ts'
import { readFileOfSetting, InvalidSettingError } from '../../config/invalid-setting.ts'
import { chainsOf, type Chain } from '../rpc/index.ts'

/** A dataset of the catalogue; `chainId` of EVM networks. */
export type Dataset = {
  id: string
  title: string
  /** As the Portal's queries call it: `evm`, `substrate`, `solana` … */
  type: string
  isTestnet: boolean
  chainId: number | null
  /** Whether the catalogue has it; otherwise it is of a chain this installation added. */
  isListed: boolean
  /** The RPC chain of the same network, by which it can be made here when no portal is configured. */
  chain: Chain | null
}

const Catalogue = z.object({
  datasets: z.record(
    z.string(),
    z.object({
      metadata: z.object({
        kind: z.string(),
        display_name: z.string(),
        type: z.string().optional(),
        evm: z.object({ chain_id: z.number() }).optional(),
      }),
    }),
  ),
})

const shippedFile = join(import.meta.dirname, 'catalogue.yaml')

export type Datasets = { all: () => Promise<Dataset[]>; find: (id: string) => Promise<Dataset | null> }

const ofApps = new WeakMap<Config, Datasets>()

/**
 * The datasets of the Portal by title: those of the catalogue, and one for each RPC chain outside of it, such as `devnet`.
 * @throws Error at once when SHOAL_PORTAL_CATALOGUE cannot be read
 */
export function datasetsOf(app: Pick<App, 'config'>): Datasets {
  const before = ofApps.get(app.config)
  if (before) return before
  const file = app.config.SHOAL_PORTAL_CATALOGUE ?? shippedFile
  const listed = readCatalogue(file)
  let loading: Promise<Map<string, Dataset>> | null = null
  const load = () =>
    (loading ??= chainsOf(app)
      .all()
      .then((chains) => joined(listed, chains)))
  const datasets: Datasets = {
    all: async () => [...(await load()).values()],
    find: async (id) => (await load()).get(id) ?? null,
  }
  ofApps.set(app.config, datasets)
  return datasets
}

function readCatalogue(file: string): Omit<Dataset, 'chain'>[] {
  const parsed = Catalogue.safeParse(parse(readFileOfSetting('SHOAL_PORTAL_CATALOGUE', file)))
  if (!parsed.success)
    throw new InvalidSettingError(`${file} is no catalogue of datasets:\n${z.prettifyError(parsed.error)}`)
  return Object.entries(parsed.data.datasets).map(([id, { metadata }]) => ({
    id,
    title: metadata.display_name,
    type: metadata.kind,
    isTestnet: (metadata.type ?? 'mainnet') !== 'mainnet',
    chainId: metadata.evm?.chain_id ?? null,
    isListed: true,
  }))
}

function joined(listed: Omit<Dataset, 'chain'>[], chains: Chain[]): Map<string, Dataset> {
  const byChainId = new Map(chains.filter((c) => c.chainId !== null).map((c) => [c.chainId, c]))
  const byId = new Map(chains.map((c) => [c.id, c]))
  const datasets = listed.map((d): Dataset => {
    const chain = d.chainId === null ? byId.get(d.id) : byChainId.get(d.chainId)
    return { ...d, chain: chain?.type === d.type ? chain : null }
  })
  const covered = new Set(datasets.map((d) => d.chain?.id))
  for (const chain of chains)
    if (chain.type === 'evm' && !covered.has(chain.id) && chain.upstreams.length > 0) datasets.push(ownDataset(chain))
  datasets.sort((a, b) => a.title.localeCompare(b.title))
  return new Map(datasets.map((d) => [d.id, d]))
}

const ownDataset = (chain: Chain): Dataset => ({
  id: chain.id,
  title: chain.title,
  type: chain.type,
  isTestnet: chain.isTestnet,
  chainId: chain.chainId,
  isListed: false,
  chain,
})

/** Who would answer for it: the configured portal for what the catalogue lists, this installation for EVM chains with nodes. */
export function sourceOf(config: Config, dataset: Dataset): 'portal' | 'rpc' | null {
  if (config.SHOAL_PORTAL_URL && dataset.isListed) return 'portal'
  return dataset.type === 'evm' && dataset.chain && dataset.chain.upstreams.length > 0 ? 'rpc' : null
}
