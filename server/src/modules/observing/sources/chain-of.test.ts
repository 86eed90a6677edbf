import { expect, test } from 'vitest'
import { chainOf } from './chain-of.ts'

const url = (chain: string) => `http://localhost:4001/rpc/${chain}/shoal_rpc_${'x'.repeat(32)}`

test('a processor indexes the chain of the gateway URL in its environment', () => {
  expect(chainOf({ RPC_URL: url('arbitrum-one'), DB_HOST: 'localhost' })).toBe('arbitrum-one')
  expect(chainOf({ RPC_ETH_HTTP: url('eth') })).toBe('eth')
  // Every container has the variables of the addon; a variable of the program itself takes precedence.
  expect(chainOf({ RPC_ETH_HTTP: url('eth'), RPC_BASE_HTTP: url('base'), SOURCE: url('base') })).toBe('base')
})

test('the chain is unknown if the environment names several chains or other nodes', () => {
  expect(chainOf({ RPC_ETH_HTTP: url('eth'), RPC_BASE_HTTP: url('base') })).toBeNull()
  expect(chainOf({ ONE: url('eth'), OTHER: url('base') })).toBeNull()
  expect(chainOf({ RPC_URL: 'https://rpc.example.com/rpc/eth/key' })).toBeNull()
  expect(chainOf({})).toBeNull()
})
