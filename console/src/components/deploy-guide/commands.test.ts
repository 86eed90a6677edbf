import { expect, test } from 'vitest'
import { authCommand, deployCommand, initCommand } from './commands.ts'

test('commands contain the entered values, or placeholders', () => {
  expect(authCommand('http://localhost:4000', '')).toBe('sqd auth -k YOUR_API_TOKEN -h http://localhost:4000/api')
  expect(authCommand('https://shoal.dev', ' key ')).toBe('sqd auth -k key -h https://shoal.dev/api')
  expect(initCommand('', 'evm')).toBe('sqd init my-squid -t evm && cd my-squid')
  expect(initCommand('erc20', 'frontier-evm')).toBe('sqd init erc20 -t frontier-evm && cd erc20')
  expect(deployCommand('acme-labs')).toBe('sqd deploy . -o acme-labs')
})
