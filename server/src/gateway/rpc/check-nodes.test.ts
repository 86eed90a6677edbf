import { expect, test } from 'vitest'
import { chainsOf } from '../../modules/chains/index.ts'
import { loadConfig } from '../../config/config.ts'
import { sampleChain } from './check-nodes.ts'

test('the chain whose public nodes are checked without SHOAL_RPC_CONFIG exists and has nodes', () => {
  const chain = chainsOf({ config: loadConfig({}) }).find(sampleChain)
  expect(chain?.upstreams.length).toBeGreaterThan(0)
})
