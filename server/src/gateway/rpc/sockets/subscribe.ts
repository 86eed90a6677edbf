import type { RpcChainType } from '@shoal/contract'
import { codes, type RpcError } from '../json-rpc.ts'
import { isRejected, callPolicyOf } from '../policy/call-policy.ts'
import type { Topic } from './feed.ts'
import { parseLogFilter } from './log-filter.ts'

/** A valid call that starts or ends a subscription. */
export type SubscriptionCall = { kind: 'subscribe'; topic: Topic } | { kind: 'unsubscribe'; id: string }

const unsupported = (method: string, reason: string): { error: RpcError } => ({
  error: { code: codes.methodNotFound, message: `the method ${method} does not exist/is not available: ${reason}` },
})

/** Parses a subscription call. Returns null for other calls, an error for unsupported or invalid subscriptions. */
export function parseSubscription(
  type: RpcChainType,
  method: string,
  params: unknown,
): SubscriptionCall | { error: RpcError } | null {
  if (method !== 'eth_subscribe' && method !== 'eth_unsubscribe') return null
  if (type !== 'evm') {
    const policy = callPolicyOf(type, method, params)
    return isRejected(policy) ? { error: { code: codes.methodNotFound, message: policy.reason } } : null
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
      if ('invalid' in filter)
        return { error: { code: codes.invalidParams, message: `Invalid filter: ${filter.invalid}` } }
      return { kind: 'subscribe', topic: { kind: 'logs', filter } }
    }
    case 'newPendingTransactions':
      return unsupported('eth_subscribe "newPendingTransactions"', 'pending transactions differ between nodes')
    case 'syncing':
      return unsupported('eth_subscribe "syncing"', 'calls are only sent to synced nodes; use eth_syncing')
    default:
      return unsupported(`eth_subscribe "${first.slice(0, 40)}"`, 'only newHeads and logs are supported')
  }
}
