import type { Chain as ViemChain } from 'viem'

/** Network names of EVM chains (contract 6.5), by the name each has in `viem/chains`. Shibuya is not in there. */
const namesInViem: Record<string, string> = {
  'arbitrum-nova': 'arbitrumNova',
  'arbitrum-one': 'arbitrum',
  'arbitrum-sepolia': 'arbitrumSepolia',
  astar: 'astar',
  ava: 'avalanche',
  'ava-testnet': 'avalancheFuji',
  base: 'base',
  'base-sepolia': 'baseSepolia',
  berachain: 'berachain',
  'blast-l2': 'blast',
  bsc: 'bsc',
  'bsc-testnet': 'bscTestnet',
  eth: 'mainnet',
  'eth-holesky': 'holesky',
  'eth-sepolia': 'sepolia',
  gnosis: 'gnosis',
  linea: 'linea',
  mantle: 'mantle',
  'mantle-sepolia': 'mantleSepoliaTestnet',
  metis: 'metis',
  'moonbase-alpha': 'moonbaseAlpha',
  moonbeam: 'moonbeam',
  moonriver: 'moonriver',
  opbnb: 'opBNB',
  'opbnb-testnet': 'opBNBTestnet',
  optimism: 'optimism',
  'optimism-sepolia': 'optimismSepolia',
  polygon: 'polygon',
  'polygon-amoy-testnet': 'polygonAmoy',
  'polygon-zkevm': 'polygonZkEvm',
  'polygon-zkevm-cardona-testnet': 'polygonZkEvmCardona',
  scroll: 'scroll',
  'scroll-sepolia': 'scrollSepolia',
  shiden: 'shiden',
  'sonic-mainnet': 'sonic',
  unichain: 'unichain',
  'unichain-sepolia': 'unichainSepolia',
  zksync: 'zksync',
  'zksync-sepolia': 'zksyncSepoliaTestnet',
}

export type EvmFacts = { title: string; chainId: number; isTestnet: boolean; publicUrls: string[] }

/**
 * The data of `viem/chains` for our network names. Loaded on first use: its 700 files take a third of a second, which processes
 * that only use the database do not need.
 */
export async function evmFacts(): Promise<Map<string, EvmFacts>> {
  const viemChains: Record<string, ViemChain | undefined> = { ...(await import('viem/chains')) }
  const facts = new Map<string, EvmFacts>([
    ['shibuya', { title: 'Shibuya', chainId: 81, isTestnet: true, publicUrls: [] }],
  ])
  for (const [name, key] of Object.entries(namesInViem)) {
    const chain = viemChains[key]
    if (!chain) throw new Error(`viem/chains no longer has "${key}"`)
    facts.set(name, {
      title: chain.name,
      chainId: chain.id,
      isTestnet: chain.testnet ?? false,
      publicUrls: chain.rpcUrls.default.http.filter((url) => url.startsWith('https://')),
    })
  }
  return facts
}
