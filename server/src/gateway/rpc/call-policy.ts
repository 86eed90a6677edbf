import type { RpcChainType } from '@shoal/contract'
import { planEvm } from './policy-evm.ts'
import { planSolana } from './policy-solana.ts'
import { planSubstrate } from './policy-substrate.ts'

/** Which newest block is asked for: the number of the newest, the newest, or the newest that is final. */
export type HeadTag = 'number' | 'latest' | 'finalized'

/** How a call may be treated. The default for what we do not know is the careful one. */
export type CallPolicy = {
  /** Only reads: it may be asked again, asked of two nodes at once, and one answer may serve several callers. */
  isSafe: boolean
  /** How long an answer holds: for ever, once the block it speaks of is final, or not at all. */
  lasts: 'never' | 'final' | 'always'
  /** The highest block it speaks of, which a node must have; `head` for the newest; null when that is not known beforehand. */
  height: number | 'head' | null
  /** It asks for the state at a block, which only archive nodes keep for ever. */
  needsState: boolean
  /** It asks which the newest block is, so the answer must never go back. */
  head?: HeadTag
}

export const careful: CallPolicy = { isSafe: false, lasts: 'never', height: null, needsState: false }
export const reading: CallPolicy = { ...careful, isSafe: true }
export const constant: CallPolicy = { ...reading, lasts: 'always' }

/** Why a call is not passed on, in words that clients understand: ethers and viem fall back to polling on these. */
export type PolicyRefusal = { refused: string }
export const isRefused = (plan: CallPolicy | PolicyRefusal): plan is PolicyRefusal => 'refused' in plan

export const notAvailable = (method: string, why: string): PolicyRefusal => ({
  refused: `the method ${method} does not exist/is not available: ${why}`,
})

const planners: Record<RpcChainType, (method: string, params: readonly unknown[]) => CallPolicy | PolicyRefusal> = {
  evm: planEvm,
  substrate: planSubstrate,
  solana: planSolana,
}

/** What may be done with a call, from its method and parameters alone. */
export function callPolicyOf(type: RpcChainType, method: string, params: unknown): CallPolicy | PolicyRefusal {
  if (Array.isArray(params)) return planners[type](method, params)
  // Nodes take parameters by position, and so do the tables; what is given by name is the node's affair alone.
  const plan = planners[type](method, [])
  return isRefused(plan) ? plan : careful
}
