import { expect, test } from 'vitest'
import { isRejected, callPolicyOf } from './call-policy.ts'

const evm = (method: string, params: unknown[] = []) => callPolicyOf('evm', method, params)
const substrate = (method: string, params: unknown[] = []) => callPolicyOf('substrate', method, params)
const hash = `0x${'ab'.repeat(32)}`

test('read-only calls may be retried; writes and unknown methods may not', () => {
  for (const method of [
    'eth_call',
    'eth_getLogs',
    'eth_chainId',
    'eth_gasPrice',
    'debug_traceBlockByNumber',
    'trace_block',
  ])
    expect(evm(method)).toMatchObject({ isSafe: true })
  for (const method of [
    'eth_sendRawTransaction',
    'eth_sendTransaction',
    'eth_sign',
    'eth_somethingNew',
    'zks_sendRawTransactionWithDetailedOutput',
  ])
    expect(evm(method)).toMatchObject({ isSafe: false, cacheable: 'never' })
  expect(substrate('author_submitExtrinsic', ['0x00'])).toMatchObject({ isSafe: false })
  expect(callPolicyOf('solana', 'sendTransaction', ['x'])).toMatchObject({ isSafe: false })
})

test('methods with the name of a property of every object get the policy of unknown methods', () => {
  for (const method of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']) {
    const unknown = { isSafe: false, cacheable: 'never', height: null, needsState: false }
    for (const type of ['evm', 'substrate', 'solana'] as const)
      expect(callPolicyOf(type, method, [hash]), `${type} ${method}`).toEqual(unknown)
  }
})

test('responses are cached depending on the finality of their block', () => {
  expect(evm('eth_getBlockByNumber', ['0x10', true])).toMatchObject({ cacheable: 'final', height: 16 })
  expect(evm('eth_getBlockByNumber', ['latest', true])).toMatchObject({ cacheable: 'never', head: 'latest' })
  expect(evm('eth_getBlockByNumber', ['pending', true])).toMatchObject({ cacheable: 'never', height: 'head' })
  expect(evm('eth_getLogs', [{ fromBlock: '0x1', toBlock: '0x5' }])).toMatchObject({ cacheable: 'final', height: 5 })
  expect(evm('eth_getLogs', [{ fromBlock: '0x1' }])).toMatchObject({ cacheable: 'never', height: 'head' })
  expect(evm('eth_call', [{}, '0x10'])).toMatchObject({ cacheable: 'final', height: 16, needsState: true })
  expect(evm('eth_call', [{}])).toMatchObject({ cacheable: 'never', height: 'head' })
  expect(evm('eth_call', [{}, { blockNumber: '0x10' }])).toMatchObject({ cacheable: 'final', height: 16 })
  expect(evm('eth_getTransactionReceipt', [hash])).toMatchObject({ cacheable: 'final', height: null })
  expect(evm('eth_chainId')).toMatchObject({ cacheable: 'always' })
  expect(substrate('state_getStorage', ['0x00', hash])).toMatchObject({ cacheable: 'always' })
  expect(substrate('state_getStorage', ['0x00'])).toMatchObject({ cacheable: 'never' })
  expect(substrate('chain_getBlockHash', [7])).toMatchObject({ cacheable: 'final', height: 7 })
  expect(substrate('chain_getBlockHash')).toMatchObject({ cacheable: 'never' })
  expect(callPolicyOf('solana', 'getBlock', [5])).toMatchObject({ cacheable: 'always' })
  expect(callPolicyOf('solana', 'getBlock', [5, { commitment: 'confirmed' }])).toMatchObject({ cacheable: 'never' })
})

test('calls that need a specific node, a WebSocket or an operator are rejected with messages that clients understand', () => {
  for (const method of [
    'eth_newFilter',
    'eth_getFilterChanges',
    'eth_subscribe',
    'admin_peers',
    'anvil_reset',
    'evm_mine',
    'debug_setHead',
    'personal_sign',
  ]) {
    const policy = evm(method)
    expect(isRejected(policy) && policy.reason).toMatch(/the method \w+ does not exist\/is not available/)
  }
  for (const method of [
    'chain_subscribeNewHeads',
    'author_rotateKeys',
    'chainHead_v1_follow',
    'offchain_localStorageSet',
  ])
    expect(isRejected(substrate(method))).toBe(true)
})
