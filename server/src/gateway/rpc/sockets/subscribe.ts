import type { RpcChainType } from '@shoal/contract'
import { codes, type RpcError } from '../json-rpc.ts'
import { isRefused, callPolicyOf } from '../call-policy.ts'
import type { Topic } from './feed.ts'
import { parseLogFilter } from './log-filter.ts'

export type SubscriptionCall = { kind: 'subscribe'; topic: Topic } | { kind: 'unsubscribe'; id: string }

const refused = (method: string, why: string): { error: RpcError } => ({
  error: { code: codes.methodNotFound, message: `the method ${method} does not exist/is not available: ${why}` },
})

/** Null for calls that have nothing to do with subscriptions; the error for those that are not offered or not valid. */
export function readSubscription(
  type: RpcChainType,
  method: string,
  params: unknown,
): SubscriptionCall | { error: RpcError } | null {
  if (method !== 'eth_subscribe' && method !== 'eth_unsubscribe') return null
  if (type !== 'evm') {
    const plan = callPolicyOf(type, method, params)
    return isRefused(plan) ? { error: { code: codes.methodNotFound, message: plan.refused } } : null
  }
  const [first, second] = Array.isArray(params) ? (params as unknown[]) : []
  if (typeof first !== 'string')
    return { error: { code: codes.invalidParams, message: `${method} takes a string as its first parameter` } }
  if (method === 'eth_unsubscribe') return { kind: 'unsubscribe', id: first }
  switch (first) {
    case 'newHeads':
      return { kind: 'subscribe', topic: { kind: 'newHeads' } }
    case 'logs': {
      const filter = parseLogFilter(second)
      if ('wrong' in filter) return { error: { code: codes.invalidParams, message: `Invalid filter: ${filter.wrong}` } }
      return { kind: 'subscribe', topic: { kind: 'logs', filter } }
    }
    case 'newPendingTransactions':
      return refused('eth_subscribe "newPendingTransactions"', 'each node knows other pending transactions')
    case 'syncing':
      return refused('eth_subscribe "syncing"', 'only nodes that have caught up are asked; use eth_syncing')
    default:
      return refused(`eth_subscribe "${first.slice(0, 40)}"`, 'the subscriptions are newHeads and logs')
  }
}
