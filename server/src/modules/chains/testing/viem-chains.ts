import * as viemChains from 'viem/chains'
import type { Chain as ViemChain } from 'viem'
import type { EvmFacts } from '../chains.ts'

/** The export of `viem/chains` for each EVM network, by the network's name. Without Shibuya, which viem does not contain. */
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

/** Returns viem's facts about EVM networks, by the network's name. */
export function evmChainsOfViem(): Record<string, EvmFacts> {
  const byKey: Record<string, ViemChain | undefined> = { ...viemChains }
  const facts: Record<string, EvmFacts> = {
    shibuya: { title: 'Shibuya', chainId: 81, isTestnet: true, publicUrls: [] },
  }
  for (const [name, key] of Object.entries(namesInViem)) {
    const chain = byKey[key]
    if (!chain) throw new Error(`viem/chains no longer has "${key}"`)
    facts[name] = {
      title: chain.name,
      chainId: chain.id,
      isTestnet: chain.testnet ?? false,
      publicUrls: chain.rpcUrls.default.http.filter((url) => url.startsWith('https://')),
    }
  }
  return facts
}

/** Generates the source of `evm-chains.gen.ts`, unformatted. */
export const evmChainsSource = (): string =>
  `// Generated from the chains of viem by \`npm run check -- --write\`; do not edit by hand.
import type { EvmFacts } from './chains.ts'

export const evmChains: Record<string, EvmFacts> = ${JSON.stringify(evmChainsOfViem(), null, 2)}
`
