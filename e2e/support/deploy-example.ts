import { join } from 'node:path'
import { expect } from 'vitest'
import type { PublicClient } from '../../scripts/public-client.ts'
import { repositoryRoot } from './shoal.ts'

type Installation = {
  /** Runs `shoal` with these arguments, and returns its output. */
  shoal: (...args: string[]) => string | Promise<string>
  /** The URL of the console. */
  url: string
  /** The URL of the gateway, without a path. */
  gatewayUrl: string
  /** The URL of the chain for squids. */
  rpcUrl: string
}

/**
 * Creates a user of an installation, deploys the example as that user with the public client, and returns the URL of its API.
 * @param folder the folder of the example
 * @throws AssertionError with the output of the client
 */
export async function deployExample(
  sqd: PublicClient,
  { shoal, url, gatewayUrl, rpcUrl }: Installation,
  folder = join(repositoryRoot, 'examples/erc20-transfers'),
): Promise<string> {
  await shoal('user', 'add', '--email', 'ada@example.com', '--name', 'Ada')
  const { token } = JSON.parse(
    await shoal('token', 'add', '--email', 'ada@example.com', '--name', 'laptop', '--json'),
  ) as Record<string, string>
  expect((await sqd('auth', '-k', token ?? '', '-h', `${url}/api`)).code).toBe(0)
  expect((await sqd('secrets', 'set', 'RPC_URL', rpcUrl)).code).toBe(0)
  const { code, stdout, stderr } = await sqd('deploy', folder, '--no-interactive', '--no-stream-logs')
  const printed = stdout + stderr
  expect(code, printed).toBe(0)
  const address = new RegExp(`${gatewayUrl}/[^ @]+@[a-z0-9]+`).exec(printed)?.[0]
  expect(address, printed).toBeDefined()
  return `${address}/api/graphql`
}
