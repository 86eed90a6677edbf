import type { RpcChainType } from '@shoal/contract'
import type { HeadTag } from './policy/call-policy.ts'
import type { Block, Upstream } from './upstream.ts'

/** How to query the nodes of one type of chain about themselves. All functions may throw the errors of `Upstream.query`. */
export type Protocol = {
  /** Reads the identity of the chain that the node serves, to detect nodes of different chains and chains that were reset. */
  identity: (node: Upstream) => Promise<{ identity: string; chainId: number | null }>
  /** Reads the number of the latest block according to the node. */
  claimedHead: (node: Upstream) => Promise<number>
  /** Reads the block of this number; null when the node cannot return it. */
  readBlock: (node: Upstream, number: number) => Promise<Block | null>
  /** Reads the latest finalized block; null when the node does not report one. */
  latestFinal: (node: Upstream) => Promise<Block | null>
  /** Rewrites a call for the head into a call for this block, or returns its result if that is already known. */
  pinToBlock: (
    tag: HeadTag,
    block: Block,
    params: readonly unknown[],
  ) => { method: string; params: unknown[] } | { json: string }
  /** Returns the number of the block a result belongs to; null when the result does not contain it. */
  blockOf: (result: unknown) => number | null
}

const hex = (n: number) => `0x${n.toString(16)}`

type EvmHeader = { number?: unknown; hash?: unknown; blockNumber?: unknown } | null

const evmBlock = (value: unknown): Block | null => {
  const { number, hash } = (value ?? {}) as Exclude<EvmHeader, null>
  return typeof number === 'string' && typeof hash === 'string' ? { number: Number(number), hash } : null
}

const evm: Protocol = {
  identity: async (node) => {
    const [chainId, genesis] = await Promise.all([
      node.query('eth_chainId', []),
      // Some nodes have pruned their first blocks.
      node.query('eth_getBlockByNumber', ['0x0', false]).catch(() => null),
    ])
    return { identity: `${Number(chainId)} ${evmBlock(genesis)?.hash ?? ''}`, chainId: Number(chainId) }
  },
  claimedHead: async (node) => Number(await node.query('eth_blockNumber', [])),
  readBlock: async (node, number) => {
    const block = evmBlock(await node.query('eth_getBlockByNumber', [hex(number), false]))
    return block?.number === number ? block : null
  },
  latestFinal: async (node) =>
    evmBlock(await node.query('eth_getBlockByNumber', ['finalized', false]).catch(() => null)),
  pinToBlock: (tag, block, params) =>
    tag === 'number'
      ? { json: JSON.stringify(hex(block.number)) }
      : { method: 'eth_getBlockByNumber', params: [hex(block.number), params[1] ?? false] },
  blockOf: (result) => {
    const first = (Array.isArray(result) ? result[0] : result) as EvmHeader | undefined
    const number = first?.blockNumber ?? first?.number
    return typeof number === 'string' ? Number(number) : null
  },
}

const substrateBlockNumber = (header: unknown): number => Number((header as { number?: unknown } | null)?.number)

const substrate: Protocol = {
  identity: async (node) => ({ identity: String(await node.query('chain_getBlockHash', [0])), chainId: null }),
  claimedHead: async (node) => substrateBlockNumber(await node.query('chain_getHeader', [])),
  readBlock: async (node, number) => {
    const hash = await node.query('chain_getBlockHash', [number])
    return typeof hash === 'string' ? { number, hash } : null
  },
  latestFinal: async (node) => {
    const hash = await node.query('chain_getFinalizedHead', [])
    const number = substrateBlockNumber(await node.query('chain_getHeader', [hash]))
    return typeof hash === 'string' && Number.isSafeInteger(number) ? { number, hash } : null
  },
  pinToBlock: (tag, block) =>
    tag === 'finalized' ? { json: JSON.stringify(block.hash) } : { method: 'chain_getHeader', params: [block.hash] },
  blockOf: () => null,
}

const solana: Protocol = {
  identity: async (node) => ({ identity: String(await node.query('getGenesisHash', [])), chainId: null }),
  claimedHead: async (node) => Number(await node.query('getSlot', [{ commitment: 'confirmed' }])),
  // A slot may have no block, so there is nothing to verify.
  readBlock: async (_node, number) => ({ number, hash: '' }),
  latestFinal: async (node) => ({
    number: Number(await node.query('getSlot', [{ commitment: 'finalized' }])),
    hash: '',
  }),
  pinToBlock: (_tag, block) => ({ json: String(block.number) }),
  blockOf: () => null,
}

/** The protocol of each type of chain. */
export const protocols: Record<RpcChainType, Protocol> = { evm, substrate, solana }
