import type { RpcChainType } from '@shoal/contract'
import { evmPolicy } from './evm.ts'
import { solanaPolicy } from './solana.ts'
import { substratePolicy } from './substrate.ts'

/** What a call requests about the chain's head: its number, the latest block, or the latest finalized block. */
export type HeadTag = 'number' | 'latest' | 'finalized'

/** How the gateway may treat a call. Unknown methods get the conservative policy. */
export type CallPolicy = {
  /** Read-only: may be retried, sent to two nodes at once, and one response may serve several callers. */
  isSafe: boolean
  /** When a response may be cached: never, once its block is final, or always. */
  cacheable: 'never' | 'final' | 'always'
  /** The highest block it refers to, which a node must have; `head`: the latest; null: unknown in advance. */
  height: number | 'head' | null
  /** Reads the state at a block, which only archive nodes keep forever. */
  needsState: boolean
  /** Set when the call requests the head; such responses must never move backwards. */
  head?: HeadTag
}

export const conservative: CallPolicy = { isSafe: false, cacheable: 'never', height: null, needsState: false }
export const readOnly: CallPolicy = { ...conservative, isSafe: true }
export const constant: CallPolicy = { ...readOnly, cacheable: 'always' }

/** Why a call is not forwarded, worded as nodes do: ethers and viem fall back to polling on these messages. */
export type PolicyRefusal = { refused: string }
export const isRefused = (policy: CallPolicy | PolicyRefusal): policy is PolicyRefusal => 'refused' in policy

export const notAvailable = (method: string, why: string): PolicyRefusal => ({
  refused: `the method ${method} does not exist/is not available: ${why}`,
})

const policyByType: Record<RpcChainType, (method: string, params: readonly unknown[]) => CallPolicy | PolicyRefusal> = {
  evm: evmPolicy,
  substrate: substratePolicy,
  solana: solanaPolicy,
}

/** Derives the policy of a call from its method and parameters. */
export function callPolicyOf(type: RpcChainType, method: string, params: unknown): CallPolicy | PolicyRefusal {
  if (Array.isArray(params)) return policyByType[type](method, params)
  // The tables describe positional parameters, so calls with named parameters get the conservative policy.
  const policy = policyByType[type](method, [])
  return isRefused(policy) ? policy : conservative
}
