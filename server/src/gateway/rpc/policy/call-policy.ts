import type { RpcChainType } from '@shoal/contract'
import { evmPolicy } from './evm.ts'
import { solanaPolicy } from './solana.ts'
import { substratePolicy } from './substrate.ts'

/** The part of the chain's head that a call requests: its number, the latest block, or the latest finalized block. */
export type HeadTag = 'number' | 'latest' | 'finalized'

/** How the gateway may treat a call. Unknown methods get the conservative policy. */
export type CallPolicy = {
  /** Read-only: the call may be retried or sent to two nodes concurrently, and one response may serve several callers. */
  isSafe: boolean
  /** When a response may be cached: never, once its block is final, or always. */
  cacheable: 'never' | 'final' | 'always'
  /** The highest block that the call refers to, which a node must have; `head`: the latest; null: unknown in advance. */
  height: number | 'head' | null
  /** Whether the call reads the state at a block, which only archive nodes keep forever. */
  needsState: boolean
  /** Set when the call requests the head; such responses must never move backwards. */
  head?: HeadTag
}

/** The policy of calls that may change something: they are sent once, and their responses are neither shared nor cached. */
export const conservative: CallPolicy = { isSafe: false, cacheable: 'never', height: null, needsState: false }
/** The policy of calls that change nothing, and whose responses may change at any time. */
export const readOnly: CallPolicy = { ...conservative, isSafe: true }
/** The policy of calls whose responses never change. */
export const constant: CallPolicy = { ...readOnly, cacheable: 'always' }

/** Why a call is not forwarded, worded like the errors of nodes: ethers and viem fall back to polling on these messages. */
export type PolicyRejection = { reason: string }
/** Whether a call must not be forwarded. */
export const isRejected = (policy: CallPolicy | PolicyRejection): policy is PolicyRejection => 'reason' in policy

/** Rejects a call with the message of a node that does not have the method. */
export const notAvailable = (method: string, reason: string): PolicyRejection => ({
  reason: `the method ${method} does not exist/is not available: ${reason}`,
})

const policyByType: Record<RpcChainType, (method: string, params: readonly unknown[]) => CallPolicy | PolicyRejection> =
  {
    evm: evmPolicy,
    substrate: substratePolicy,
    solana: solanaPolicy,
  }

/** Derives the policy of a call from its method and parameters. */
export function callPolicyOf(type: RpcChainType, method: string, params: unknown): CallPolicy | PolicyRejection {
  if (Array.isArray(params)) return policyByType[type](method, params)
  // The tables describe positional parameters, so calls with named parameters get the conservative policy.
  const policy = policyByType[type](method, [])
  return isRejected(policy) ? policy : conservative
}
