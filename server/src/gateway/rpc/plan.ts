import type { RpcChainType } from '@shoal/contract'
import { planEvm } from './plan-evm.ts'
import { planSolana } from './plan-solana.ts'
import { planSubstrate } from './plan-substrate.ts'

/** Which newest block is asked for: the number of the newest, the newest, or the newest that is final. */
export type HeadTag = 'number' | 'latest' | 'finalized'

/** How a call may be treated. The default for what we do not know is the careful one. */
export type Plan = {
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

export const careful: Plan = { isSafe: false, lasts: 'never', height: null, needsState: false }
export const reading: Plan = { ...careful, isSafe: true }
export const constant: Plan = { ...reading, lasts: 'always' }

/** Why a call is not passed on, in words that clients understand: ethers and viem fall back to polling on these. */
export type Refused = { refused: string }
export const isRefused = (plan: Plan | Refused): plan is Refused => 'refused' in plan

export const notAvailable = (method: string, why: string): Refused => ({
  refused: `the method ${method} does not exist/is not available: ${why}`,
})

const planners: Record<RpcChainType, (method: string, params: readonly unknown[]) => Plan | Refused> = {
  evm: planEvm,
  substrate: planSubstrate,
  solana: planSolana,
}

/** What may be done with a call, from its method and parameters alone. */
export function planOf(type: RpcChainType, method: string, params: unknown): Plan | Refused {
  if (Array.isArray(params)) return planners[type](method, params)
  // Nodes take parameters by position, and so do the tables; what is given by name is the node's affair alone.
  const plan = planners[type](method, [])
  return isRefused(plan) ? plan : careful
}
