import { conservative, constant, notAvailable, readOnly, type CallPolicy, type PolicyRejection } from './call-policy.ts'

/**
 * Methods whose last parameter may be a block hash, with the index of that parameter. Data of a block given by its hash never
 * changes, even if a reorganization removes the block.
 */
const hashParamIndex = new Map([
  ['chain_getBlock', 0],
  ['chain_getHeader', 0],
  ['state_getMetadata', 0],
  ['state_getRuntimeVersion', 0],
  ['chain_getRuntimeVersion', 0],
  ['state_getStorage', 1],
  ['state_getStorageAt', 1],
  ['state_getStorageHash', 1],
  ['state_getStorageSize', 1],
  ['state_queryStorageAt', 1],
  ['state_getReadProof', 1],
  ['state_call', 2],
  ['state_getKeysPaged', 3],
  ['state_getKeysPagedAt', 3],
  ['state_getPairs', 1],
  ['state_traceBlock', 0],
  ['childstate_getStorage', 2],
])

const constantMethods = new Set(['system_chain', 'system_chainType', 'system_properties', 'chainSpec_v1_genesisHash'])
const volatileReads =
  /^(?:system_(?:health|name|version|syncState|localPeerId|accountNextIndex)|rpc_methods|chain_getFinali[sz]edHead|author_(?:pendingExtrinsics|hasKey|hasSessionKeys)|payment_\w+|eth_\w+|grandpa_\w+|beefy_getFinalizedHead|dev_getBlockStats|mmr_\w+)$/
const subscriptionMethods = /[sS]ubscribe|^(?:chainHead|transactionWatch|transaction|archive)_|^author_submitAndWatch/
/** Methods that control or reveal the node itself. */
const operatorMethods =
  /^(?:author_(?:insertKey|rotateKeys|removeExtrinsic)|system_(?:add|remove|unstable|peers|reset)\w*|offchain_)/

/** Returns the policy of a call to a Substrate chain. */
export function substratePolicy(method: string, params: readonly unknown[]): CallPolicy | PolicyRejection {
  if (method === 'chain_getBlockHash') return blockHashPolicy(params[0])
  if (method === 'chain_getHeader' && isNullish(params[0])) return { ...readOnly, height: 'head', head: 'latest' }
  if (/^chain_getFinali[sz]edHead$/.test(method)) return { ...readOnly, head: 'finalized' }
  if (constantMethods.has(method)) return constant
  const index = hashParamIndex.get(method)
  if (index !== undefined) return typeof params[index] === 'string' ? constant : { ...readOnly, height: 'head' }
  if (subscriptionMethods.test(method))
    return notAvailable(
      method,
      'subscriptions are not offered for this chain; poll chain_getHeader or chain_getFinalizedHead',
    )
  if (operatorMethods.test(method)) return notAvailable(method, 'it is reserved for node operators')
  return volatileReads.test(method) ? { ...readOnly, height: 'head' } : conservative
}

function blockHashPolicy(value: unknown): CallPolicy {
  if (isNullish(value)) return { ...readOnly, height: 'head' }
  const number = typeof value === 'number' ? value : typeof value === 'string' ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(number) || number < 0) return { ...readOnly, height: 'head' }
  return { ...readOnly, cacheable: 'final', height: number }
}

const isNullish = (value: unknown) => value === undefined || value === null
