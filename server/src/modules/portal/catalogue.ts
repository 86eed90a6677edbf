import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { oncePerProcess } from '../../collections/once-per.ts'
import type { Config } from '../../config/config.ts'
import { readFileOfSetting, InvalidSettingError } from '../../config/invalid-setting.ts'
import { chainsOf, type Chain } from '../chains/index.ts'

/** A dataset that the gateway offers. */
export type Dataset = {
  id: string
  title: string
  /** Type in the Portal's queries: `evm`, `substrate`, `solana` … */
  type: string
  isTestnet: boolean
  /** Null for networks that are not EVM networks. */
  chainId: number | null
  /** Whether the dataset is in the catalogue; otherwise it belongs to a chain added by this installation. */
  isListed: boolean
  /** The RPC chain of the same network, which can serve the dataset when no portal is configured. */
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

type ListedDataset = Omit<Dataset, 'chain'>

let builtIn: ListedDataset[] | null = null
/** Returns the catalogue of this release. Parses it on first use, because parsing would delay the start of the server. */
const builtInDatasets = () => (builtIn ??= readCatalogue(join(import.meta.dirname, 'catalogue.yaml')))

/** All datasets, ordered by title, and a lookup by id. */
export type Datasets = { all: () => Dataset[]; find: (id: string) => Dataset | null }

/**
 * Returns the datasets, ordered by title: those of the catalogue, and one for each other RPC chain, such as `devnet`.
 * @throws InvalidSettingError immediately when SHOAL_PORTAL_CATALOGUE cannot be read
 */
export const datasetsOf = oncePerProcess((app: Pick<App, 'config'>): Datasets => {
  const file = app.config.SHOAL_PORTAL_CATALOGUE
  const configured = file === undefined ? null : readCatalogue(file)
  let byId: Map<string, Dataset> | null = null
  const load = () => (byId ??= joinChains(configured ?? builtInDatasets(), chainsOf(app).all()))
  return { all: () => [...load().values()], find: (id) => load().get(id) ?? null }
})

function readCatalogue(file: string): ListedDataset[] {
  const parsed = Catalogue.safeParse(parse(readFileOfSetting('SHOAL_PORTAL_CATALOGUE', file)))
  if (!parsed.success)
    throw new InvalidSettingError(`${file} is not a catalogue of datasets:\n${z.prettifyError(parsed.error)}`)
  return Object.entries(parsed.data.datasets).map(([id, { metadata }]) => ({
    id,
    title: metadata.display_name,
    type: metadata.kind,
    isTestnet: (metadata.type ?? 'mainnet') !== 'mainnet',
    chainId: metadata.evm?.chain_id ?? null,
    isListed: true,
  }))
}

function joinChains(listed: ListedDataset[], chains: Chain[]): Map<string, Dataset> {
  const byChainId = new Map(chains.filter((c) => c.chainId !== null).map((c) => [c.chainId, c]))
  const byId = new Map(chains.map((c) => [c.id, c]))
  const datasets = listed.map((d): Dataset => {
    const chain = d.chainId === null ? byId.get(d.id) : byChainId.get(d.chainId)
    return { ...d, chain: chain?.type === d.type ? chain : null }
  })
  const chainsWithDataset = new Set(datasets.map((d) => d.chain?.id))
  for (const chain of chains)
    if (chain.type === 'evm' && !chainsWithDataset.has(chain.id) && chain.upstreams.length > 0)
      datasets.push(datasetOfChain(chain))
  datasets.sort((a, b) => a.title.localeCompare(b.title))
  return new Map(datasets.map((d) => [d.id, d]))
}

const datasetOfChain = (chain: Chain): Dataset => ({
  id: chain.id,
  title: chain.title,
  type: chain.type,
  isTestnet: chain.isTestnet,
  chainId: chain.chainId,
  isListed: false,
  chain,
})

/**
 * Returns the source of a dataset: the configured portal for listed datasets, else this installation's RPC nodes for EVM chains; null
 * without either.
 */
export function datasetSourceOf(config: Config, dataset: Dataset): 'portal' | 'rpc' | null {
  if (config.SHOAL_PORTAL_URL && dataset.isListed) return 'portal'
  return dataset.type === 'evm' && dataset.chain && dataset.chain.upstreams.length > 0 ? 'rpc' : null
}
