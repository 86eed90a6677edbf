import { careful, constant, notAvailable, reading, type CallPolicy, type PolicyRefusal } from './call-policy.ts'

/**
 * Methods whose last parameter may be a block's hash, with its place. What a block's hash names never changes, whether the
 * chain keeps the block or not.
 */
const hashAt: Record<string, number> = {
  chain_getBlock: 0,
  chain_getHeader: 0,
  state_getMetadata: 0,
  state_getRuntimeVersion: 0,
  chain_getRuntimeVersion: 0,
  state_getStorage: 1,
  state_getStorageAt: 1,
  state_getStorageHash: 1,
  state_getStorageSize: 1,
  state_queryStorageAt: 1,
  state_getReadProof: 1,
  state_call: 2,
  state_getKeysPaged: 3,
  state_getKeysPagedAt: 3,
  state_getPairs: 1,
  state_traceBlock: 0,
  childstate_getStorage: 2,
}

const constants = new Set(['system_chain', 'system_chainType', 'system_properties', 'chainSpec_v1_genesisHash'])
const changing =
  /^(?:system_(?:health|name|version|syncState|localPeerId|accountNextIndex)|rpc_methods|chain_getFinali[sz]edHead|author_(?:pendingExtrinsics|hasKey|hasSessionKeys)|payment_\w+|eth_\w+|grandpa_\w+|beefy_getFinalizedHead|dev_getBlockStats|mmr_\w+)$/
const streams = /[sS]ubscribe|^(?:chainHead|transactionWatch|transaction|archive)_|^author_submitAndWatch/
const forOperators =
  /^(?:author_(?:insertKey|rotateKeys|removeExtrinsic)|system_(?:add|remove|unstable|peers|reset)\w*|offchain_)/

export function planSubstrate(method: string, params: readonly unknown[]): CallPolicy | PolicyRefusal {
  if (method === 'chain_getBlockHash') return planBlockHash(params[0])
  if (method === 'chain_getHeader' && isNothing(params[0])) return { ...reading, height: 'head', head: 'latest' }
  if (/^chain_getFinali[sz]edHead$/.test(method)) return { ...reading, head: 'finalized' }
  if (constants.has(method)) return constant
  const place = hashAt[method]
  if (place !== undefined) return typeof params[place] === 'string' ? constant : { ...reading, height: 'head' }
  if (streams.test(method))
    return notAvailable(
      method,
      'subscriptions are not offered for this chain; poll chain_getHeader or chain_getFinalizedHead',
    )
  if (forOperators.test(method)) return notAvailable(method, 'it is for the operators of nodes')
  return changing.test(method) ? { ...reading, height: 'head' } : careful
}

function planBlockHash(given: unknown): CallPolicy {
  if (isNothing(given)) return { ...reading, height: 'head' }
  const number = typeof given === 'number' ? given : typeof given === 'string' ? Number(given) : Number.NaN
  if (!Number.isSafeInteger(number) || number < 0) return { ...reading, height: 'head' }
  return { ...reading, lasts: 'final', height: number }
}

const isNothing = (given: unknown) => given === undefined || given === null
