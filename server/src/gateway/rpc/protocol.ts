import type { RpcChainType } from '@shoal/contract'
import type { HeadTag } from './call-policy.ts'
import type { Block, Upstream } from './upstream.ts'

/** How to learn of a node, by kind of chain. All may throw what `Upstream.ask` throws. */
export type Protocol = {
  /** Which chain it serves, so that nodes of different chains, and a chain made anew, are told apart. */
  identity: (node: Upstream) => Promise<{ identity: string; chainId: number | null }>
  /** The number of the newest block, as the node claims. */
  claim: (node: Upstream) => Promise<number>
  /** That block itself; null when the node cannot show it, and then its claim is not believed. */
  show: (node: Upstream, number: number) => Promise<Block | null>
  /** The newest final block; null when the node does not say. */
  final: (node: Upstream) => Promise<Block | null>
  /** A call that asks for the newest block, made one that asks for this block; or its answer, where that is known. */
  pinned: (
    tag: HeadTag,
    block: Block,
    params: readonly unknown[],
  ) => { method: string; params: unknown[] } | { json: string }
  /** Which block a result speaks of; null when it does not say. */
  blockOf: (result: unknown) => number | null
}

const hex = (n: number) => `0x${n.toString(16)}`

type EvmHeader = { number?: unknown; hash?: unknown; blockNumber?: unknown } | null

const evmBlock = (given: unknown): Block | null => {
  const { number, hash } = (given ?? {}) as Exclude<EvmHeader, null>
  return typeof number === 'string' && typeof hash === 'string' ? { number: Number(number), hash } : null
}

const evm: Protocol = {
  identity: async (node) => {
    const [chainId, genesis] = await Promise.all([
      node.ask('eth_chainId', []),
      // Some nodes have thrown away their first blocks.
      node.ask('eth_getBlockByNumber', ['0x0', false]).catch(() => null),
    ])
    return { identity: `${Number(chainId)} ${evmBlock(genesis)?.hash ?? ''}`, chainId: Number(chainId) }
  },
  claim: async (node) => Number(await node.ask('eth_blockNumber', [])),
  show: async (node, number) => {
    const block = evmBlock(await node.ask('eth_getBlockByNumber', [hex(number), false]))
    return block?.number === number ? block : null
  },
  final: async (node) => evmBlock(await node.ask('eth_getBlockByNumber', ['finalized', false]).catch(() => null)),
  pinned: (tag, block, params) =>
    tag === 'number'
      ? { json: JSON.stringify(hex(block.number)) }
      : { method: 'eth_getBlockByNumber', params: [hex(block.number), params[1] ?? false] },
  blockOf: (result) => {
    const first = (Array.isArray(result) ? result[0] : result) as EvmHeader | undefined
    const number = first?.blockNumber ?? first?.number
    return typeof number === 'string' ? Number(number) : null
  },
}

const substrateNumber = (header: unknown): number => Number((header as { number?: unknown } | null)?.number)

const substrate: Protocol = {
  identity: async (node) => ({ identity: String(await node.ask('chain_getBlockHash', [0])), chainId: null }),
  claim: async (node) => substrateNumber(await node.ask('chain_getHeader', [])),
  show: async (node, number) => {
    const hash = await node.ask('chain_getBlockHash', [number])
    return typeof hash === 'string' ? { number, hash } : null
  },
  final: async (node) => {
    const hash = await node.ask('chain_getFinalizedHead', [])
    const number = substrateNumber(await node.ask('chain_getHeader', [hash]))
    return typeof hash === 'string' && Number.isSafeInteger(number) ? { number, hash } : null
  },
  pinned: (tag, block) =>
    tag === 'finalized' ? { json: JSON.stringify(block.hash) } : { method: 'chain_getHeader', params: [block.hash] },
  blockOf: () => null,
}

const solana: Protocol = {
  identity: async (node) => ({ identity: String(await node.ask('getGenesisHash', [])), chainId: null }),
  claim: async (node) => Number(await node.ask('getSlot', [{ commitment: 'confirmed' }])),
  // A slot may have no block at all, so there is nothing to show.
  show: async (_node, number) => ({ number, hash: '' }),
  final: async (node) => ({ number: Number(await node.ask('getSlot', [{ commitment: 'finalized' }])), hash: '' }),
  pinned: (_tag, block) => ({ json: String(block.number) }),
  blockOf: () => null,
}

export const protocols: Record<RpcChainType, Protocol> = { evm, substrate, solana }
