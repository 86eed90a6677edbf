import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../scripts/public-client.ts'
import { startTestCloud, type TestCloud } from './support/test-cloud.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** Runs every command of the unmodified public client 3.2.3 with a real server, squid and chain, in the order of typical use. */
describe('the public client', () => {
  let cloud: TestCloud
  let sqd: PublicClient
  const org = 'acme-labs'
  const nonInteractive = ['--no-interactive', '--no-stream-logs']
  const allowChanges = ['--allow-update', '--allow-tag-reassign', '--allow-manifest-override']
  const endpointOf = (reference: string) => cloud.endpointOf(reference)
  const deploySlot = (slot: string, ...options: string[]) =>
    sqd('deploy', cloud.project, '-o', org, '-s', slot, ...options, ...nonInteractive, ...allowChanges)

  beforeAll(async () => {
    ;[cloud, sqd] = await Promise.all([startTestCloud(), openClient()])
    const auth = await sqd('auth', '-k', cloud.token, '-h', `${cloud.shoal.url}/api`)
    expect(auth.stdout).toContain('admin@acme-labs.dev')
  })

  afterAll(async () => {
    sqd?.close()
    await cloud?.end()
  })

  test('whoami shows the signed-in user', async () => {
    const { stdout, code } = await sqd('whoami')
    expect(stdout).toContain('admin@acme-labs.dev')
    expect(code).toBe(0)
  })

  test('a wrong key is rejected', async () => {
    const { stderr, code } = await sqd('auth', '-k', 'shoal_wrong', '-h', `${cloud.shoal.url}/api`)
    expect(stderr).toContain('Authentication failure')
    expect(code).toBe(2)
  })

  test('a deployment that needs an unknown secret fails and names it', async () => {
    const { stdout, stderr, code } = await deploySlot('v1')
    expect(stdout + stderr).toContain('RPC_URL')
    expect(stdout + stderr).toContain('sqd secrets set')
    expect(code).toBe(2)
  })

  test('secrets are set, listed without their values, and removed', async () => {
    await sqd('secrets', 'set', 'RPC_URL', cloud.devnet.rpcUrl, '-o', org)
    await sqd('secrets', 'set', 'SPARE', 'very-hidden', '-o', org)
    const { stdout } = await sqd('secrets', 'list', '-o', org)
    expect(stdout).toContain('RPC_URL')
    expect(stdout).not.toContain(cloud.devnet.rpcUrl)
    expect(stdout).not.toContain('very-hidden')
    expect((await sqd('secrets', 'remove', 'SPARE', '-o', org)).code).toBe(0)
    expect((await sqd('secrets', 'list', '-o', org)).stdout).not.toContain('SPARE')
  })

  test('a deployed squid serves the data of the chain', async () => {
    const { stdout, stderr, code } = await deploySlot('v1', '--add-tag', 'prod')
    expect(stderr + stdout).toContain('erc20-transfers')
    expect(code).toBe(0)
    const transfers = await cloud.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v1'))) === transfers,
      'all transfers are indexed',
    )
    expect(await totalTransfers(endpointOf('erc20-transfers:prod'))).toBe(transfers)
    expect(await totalTransfers(endpointOf('erc20-transfers%40v1'))).toBe(transfers)
  })

  test('a reorganization of the chain replaces the data of the dropped blocks', async () => {
    await cloud.devnet.chain.transfer(3)
    await until(
      async () =>
        (await totalTransfers(endpointOf('erc20-transfers@v1'))) === (await cloud.devnet.chain.countTransfers()),
      'new transfers are indexed',
    )
    await cloud.devnet.chain.reorg(2)
    await cloud.devnet.chain.transfer(1)
    const transfers = await cloud.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v1'))) === transfers,
      'dropped transfers are removed',
    )
  })

  test('list and view show name, slot, tag and state', async () => {
    const list = await sqd('list', '-o', org)
    expect(list.stdout).toContain('erc20-transfers')
    expect(list.stdout).toContain('v1')
    const view = await sqd('view', '-r', `${org}/erc20-transfers@v1`)
    expect(view.stdout).toMatch(/DEPLOYED/)
    const { stdout } = await sqd('view', '-r', `${org}/erc20-transfers:prod`, '--json')
    const squid = JSON.parse(stdout) as { reference: string; org?: unknown; api: { status: string } }
    expect(squid.reference).toBe('erc20-transfers@v1')
    expect(squid.org).toBeUndefined()
    expect(squid.api.status).toBe('AVAILABLE')
  })

  test('logs are filtered by container, level and text', async () => {
    const unfiltered = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')
    expect(unfiltered.stdout).toMatch(/processor/)
    const api = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '-c', 'api', '--no-interactive')
    expect(api.stdout).toMatch(/api/)
    expect(api.stdout).not.toMatch(/processor +INFO/)
    const init = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '-c', 'db-migrate', '--no-interactive')
    expect(init.stdout).toMatch(/migration/i)
    const matches = await sqd(
      'logs',
      '-r',
      `${org}/erc20-transfers@v1`,
      '--search',
      'last',
      '-l',
      'info',
      '--no-interactive',
    )
    expect(matches.code).toBe(0)
    const noMatches = await sqd(
      'logs',
      '-r',
      `${org}/erc20-transfers@v1`,
      '--search',
      'no such text anywhere',
      '--no-interactive',
    )
    expect(noMatches.stdout).not.toMatch(/processor/)
  })

  test('logs -f shows a line as it is written', async () => {
    const follow = sqd.start('logs', '-r', `${org}/erc20-transfers@v1`, '-f', '-c', 'processor')
    try {
      await until(() => follow.output().includes('rate:'), 'the client follows the log')
      await cloud.devnet.chain.transfer(5)
      const height = await cloud.devnet.chain.height()
      await until(() => follow.output().includes(`${height} / ${height}`), 'the log shows the newest block')
    } finally {
      await follow.stop()
    }
  })

  test('tags are added and removed', async () => {
    expect((await sqd('tags', 'add', 'stable', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect(await totalTransfers(endpointOf('erc20-transfers:stable'))).toBeGreaterThan(0)
    expect((await sqd('tags', 'remove', 'stable', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect((await fetch(endpointOf('erc20-transfers:stable'))).status).toBe(404)
  })

  test('a restarted squid serves its data again', async () => {
    expect((await sqd('restart', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect(await totalTransfers(endpointOf('erc20-transfers@v1'))).toBe(await cloud.devnet.chain.countTransfers())
  })

  test('a slot can be deployed again, and a tag moves to a second slot', async () => {
    expect((await deploySlot('v1')).code).toBe(0)
    expect((await deploySlot('v2', '--add-tag', 'prod')).code).toBe(0)
    const squid = JSON.parse((await sqd('view', '-r', `${org}/erc20-transfers:prod`, '--json')).stdout) as {
      slot: string
    }
    expect(squid.slot).toBe('v2')
  })

  test('a hard reset indexes from scratch', async () => {
    expect((await deploySlot('v2', '--hard-reset')).code).toBe(0)
    const transfers = await cloud.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v2'))) === transfers,
      'all transfers are indexed again',
    )
  })

  test('while a deployment is running, the server rejects a second one, and the client reports that', async () => {
    const first = deploySlot('v2')
    await until(
      async () => (await sqd('view', '-r', `${org}/erc20-transfers@v2`, '--json')).stdout.includes('"DEPLOYING"'),
      'the deployment is running',
    )
    const second = await sqd('restart', '-r', `${org}/erc20-transfers@v2`, '--no-interactive')
    expect(second.code).toBe(2)
    expect(second.stdout + second.stderr).toMatch(/in parallel|in progress/)
    expect((await first).code).toBe(0)
  })

  test('removed versions are neither listed nor served nor found', async () => {
    for (const slot of ['v1', 'v2'])
      expect((await sqd('remove', '-r', `${org}/erc20-transfers@${slot}`, '--no-interactive', '--force')).code).toBe(0)
    expect((await sqd('list', '-o', org)).stdout).not.toContain('erc20-transfers')
    expect((await fetch(endpointOf('erc20-transfers@v1'))).status).toBe(404)
    expect((await sqd('view', '-r', `${org}/erc20-transfers@v1`)).code).toBe(2)
  })
})
