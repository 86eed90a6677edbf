import {
  conservative,
  constant,
  notAvailable,
  readOnly,
  type HeadTag,
  type CallPolicy,
  type PolicyRejection,
} from './call-policy.ts'

/** Index of the block in the parameters of methods about one block. */
const blockParamIndex = new Map([
  ['eth_getBlockByNumber', 0],
  ['eth_getBlockReceipts', 0],
  ['eth_getBlockTransactionCountByNumber', 0],
  ['eth_getUncleCountByBlockNumber', 0],
  ['eth_getTransactionByBlockNumberAndIndex', 0],
  ['debug_traceBlockByNumber', 0],
  ['trace_block', 0],
  ['trace_replayBlockTransactions', 0],
  ['arbtrace_block', 0],
])

/** Index of the block in the parameters of methods that read the state at a block. */
const stateParamIndex = new Map([
  ['eth_call', 1],
  ['eth_getBalance', 1],
  ['eth_getCode', 1],
  ['eth_getTransactionCount', 1],
  ['eth_getStorageAt', 2],
  ['eth_getProof', 2],
])

/** Methods that look up a block or a transaction by hash. Their responses contain the number of the block. */
const lookupsByHash = new Set([
  'eth_getBlockByHash',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'eth_getTransactionByBlockHashAndIndex',
])

/** Other read-only methods. Their responses are not cached, because most of them change over time. */
const volatileReads = new Set([
  'eth_gasPrice',
  'eth_maxPriorityFeePerGas',
  'eth_blobBaseFee',
  'eth_feeHistory',
  'eth_estimateGas',
  'eth_createAccessList',
  'eth_syncing',
  'eth_accounts',
  'eth_getBlockTransactionCountByHash',
  'eth_simulateV1',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleByBlockNumberAndIndex',
  'eth_getUncleCountByBlockHash',
  'debug_traceBlockByHash',
  'debug_traceTransaction',
  'debug_traceCall',
  'debug_storageRangeAt',
  'trace_transaction',
  'trace_filter',
  'trace_call',
  'trace_get',
  'trace_replayTransaction',
  'net_listening',
  'net_peerCount',
  'web3_clientVersion',
  'web3_sha3',
  'rpc_modules',
  'txpool_status',
])

/** Methods whose responses are the same for all nodes of a chain, at any time. */
const constantMethods = new Set(['eth_chainId', 'net_version'])
/** Methods of filters that a node keeps. */
const nodeFilters = /^eth_(?:new|get|uninstall)\w*Filter|^eth_getFilter(?:Changes|Logs)$/
/** Methods that control or reveal the node itself. */
const operatorMethods =
  /^(?:admin|personal|miner|engine|anvil|hardhat|evm|tenderly|clique|les)_|^debug_(?!trace|getRaw|storageRangeAt)/

/** Returns the policy of a call to an EVM chain. */
export function evmPolicy(method: string, params: readonly unknown[]): CallPolicy | PolicyRejection {
  if (method === 'eth_blockNumber') return { ...readOnly, head: 'number' }
  if (method === 'eth_getLogs') return logsPolicy(params[0])
  if (constantMethods.has(method)) return constant
  if (lookupsByHash.has(method)) return { ...readOnly, cacheable: 'final' }
  const index = blockParamIndex.get(method) ?? stateParamIndex.get(method)
  if (index !== undefined) return blockPolicy(method, params[index], stateParamIndex.has(method))
  if (volatileReads.has(method)) return { ...readOnly, height: 'head' }
  if (nodeFilters.test(method))
    return notAvailable(method, 'filters exist on a single node only; use eth_getLogs, or eth_subscribe over WebSocket')
  if (/^eth_(?:un)?subscribe$/.test(method))
    return notAvailable(method, 'subscriptions need a WebSocket; connect to the same URL with ws(s)://')
  if (operatorMethods.test(method)) return notAvailable(method, 'it is reserved for node operators')
  return conservative
}

function blockPolicy(method: string, value: unknown, needsState: boolean): CallPolicy {
  const block = blockOf(value)
  if (typeof block === 'number') return { ...readOnly, cacheable: 'final', height: block, needsState }
  if (block === 'hash') return { ...readOnly, cacheable: needsState ? 'never' : 'final', needsState }
  const policy: CallPolicy = { ...readOnly, height: 'head' }
  return method === 'eth_getBlockByNumber' && isHeadTag(block) ? { ...policy, head: block } : policy
}

function logsPolicy(value: unknown): CallPolicy {
  const filter = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  if (typeof filter['blockHash'] === 'string') return { ...readOnly, cacheable: 'final' }
  const [from, to] = [blockOf(filter['fromBlock']), blockOf(filter['toBlock'])]
  if (typeof from === 'number' && typeof to === 'number')
    return { ...readOnly, cacheable: 'final', height: Math.max(from, to) }
  return { ...readOnly, height: 'head' }
}

const isHeadTag = (tag: string): tag is HeadTag => tag === 'latest' || tag === 'finalized'

/** Returns the number of the block, `hash` if the block is given by its hash (including EIP-1898), or a tag; `latest` by default. */
function blockOf(value: unknown): number | 'hash' | (string & {}) {
  if (value === undefined || value === null || value === '') return 'latest'
  if (typeof value === 'object') {
    const { blockHash, blockNumber } = value as Record<string, unknown>
    return typeof blockHash === 'string' ? 'hash' : blockOf(blockNumber)
  }
  if (value === 'earliest') return 0
  if (typeof value !== 'string' || !value.startsWith('0x')) return String(value)
  if (value.length === 66) return 'hash'
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
