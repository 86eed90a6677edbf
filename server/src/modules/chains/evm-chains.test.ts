import { expect, test } from 'vitest'
import { evmChains } from './evm-chains.gen.ts'
import { evmChainsOfViem } from './testing/viem-chains.ts'

test('the generated table of EVM chains matches the installed viem', () => {
  expect(evmChains, 'run npm run check -- --write').toEqual(evmChainsOfViem())
})
