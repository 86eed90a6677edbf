import { expect, test } from 'vitest'
import { chainOf } from './chain-of.ts'

const url = (chain: string) => `http://localhost:4001/rpc/${chain}/shoal_rpc_${'x'.repeat(32)}`

test('a processor indexes the chain it is led to at our gateway', () => {
  expect(chainOf({ RPC_URL: url('arbitrum-one'), DB_HOST: 'localhost' })).toBe('arbitrum-one')
  expect(chainOf({ RPC_ETH_HTTP: url('eth') })).toBe('eth')
  // The addon is in every container; what the program was given by name counts.
  expect(chainOf({ RPC_ETH_HTTP: url('eth'), RPC_BASE_HTTP: url('base'), SOURCE: url('base') })).toBe('base')
})

test('of several chains, or of other nodes, nothing is known', () => {
  expect(chainOf({ RPC_ETH_HTTP: url('eth'), RPC_BASE_HTTP: url('base') })).toBeNull()
  expect(chainOf({ ONE: url('eth'), OTHER: url('base') })).toBeNull()
  expect(chainOf({ RPC_URL: 'https://rpc.example.com/rpc/eth/key' })).toBeNull()
  expect(chainOf({})).toBeNull()
})
