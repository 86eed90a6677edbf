import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openClient, type PublicClient } from '../scripts/public-client.ts'
import { startDay, type Day } from './support/day.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** The unmodified public client against a real server, a real squid and a real chain: every command of 3.2.3, in the order of typical use. */
describe('the public client', () => {
  let day: Day
  let sqd: PublicClient
  const org = 'acme-labs'
  const automatic = ['--no-interactive', '--no-stream-logs']
  const allow = ['--allow-update', '--allow-tag-reassign', '--allow-manifest-override']
  const endpointOf = (reference: string) => day.endpointOf(reference)

  beforeAll(async () => {
    ;[day, sqd] = await Promise.all([startDay({ prebuilt: 'nothing' }), openClient()])
    const auth = await sqd('auth', '-k', day.token, '-h', `${day.shoal.url}/api`)
    expect(auth.stdout).toContain('admin@acme-labs.dev')
  }, 180_000)

  afterAll(async () => {
    sqd?.close()
    await day?.end()
  })

  test('whoami', async () => {
    const { stdout, code } = await sqd('whoami')
    expect(stdout).toContain('admin@acme-labs.dev')
    expect(code).toBe(0)
  })

  test('a wrong key is refused', async () => {
    const { stderr, code } = await sqd('auth', '-k', 'shoal_wrong', '-h', `${day.shoal.url}/api`)
    expect(stderr).toContain('Authentication failure')
    expect(code).toBe(2)
  })

  test('a deployment that needs an unknown secret fails and names it', async () => {
    const { stdout, stderr, code } = await sqd('deploy', day.project, '-o', org, '-s', 'v1', ...automatic, ...allow)
    expect(stdout + stderr).toContain('RPC_URL')
    expect(stdout + stderr).toContain('sqd secrets set')
    expect(code).toBe(2)
  })

  test('secrets are set, listed without their values, and removed', async () => {
    await sqd('secrets', 'set', 'RPC_URL', day.devnet.rpcUrl, '-o', org)
    await sqd('secrets', 'set', 'SPARE', 'very-hidden', '-o', org)
    const { stdout } = await sqd('secrets', 'list', '-o', org)
    expect(stdout).toContain('RPC_URL')
    expect(stdout).not.toContain(day.devnet.rpcUrl)
    expect(stdout).not.toContain('very-hidden')
    expect((await sqd('secrets', 'remove', 'SPARE', '-o', org)).code).toBe(0)
    expect((await sqd('secrets', 'list', '-o', org)).stdout).not.toContain('SPARE')
  })

  test('deploy, and the squid serves the data of the chain', async () => {
    const { stdout, stderr, code } = await sqd(
      'deploy',
      day.project,
      '-o',
      org,
      '-s',
      'v1',
      '--add-tag',
      'prod',
      ...automatic,
      ...allow,
    )
    expect(stderr + stdout).toContain('erc20-transfers')
    expect(code).toBe(0)
    const transfers = await day.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v1'))) === transfers,
      'all transfers are indexed',
    )
    expect(await totalTransfers(endpointOf('erc20-transfers:prod'))).toBe(transfers)
    expect(await totalTransfers(endpointOf('erc20-transfers%40v1'))).toBe(transfers)
  }, 240_000)

  test('the data follows a reorganisation of the chain', async () => {
    await day.devnet.chain.transfer(3)
    await until(
      async () =>
        (await totalTransfers(endpointOf('erc20-transfers@v1'))) === (await day.devnet.chain.countTransfers()),
      'new transfers are indexed',
    )
    await day.devnet.chain.reorg(2)
    await day.devnet.chain.transfer(1)
    const transfers = await day.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v1'))) === transfers,
      'dropped transfers are removed',
    )
  }, 90_000)

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

  test('logs: by container, level and text', async () => {
    const all = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')
    expect(all.stdout).toMatch(/processor/)
    const api = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '-c', 'api', '--no-interactive')
    expect(api.stdout).toMatch(/api/)
    expect(api.stdout).not.toMatch(/processor +INFO/)
    const init = await sqd('logs', '-r', `${org}/erc20-transfers@v1`, '-c', 'db-migrate', '--no-interactive')
    expect(init.stdout).toMatch(/migration/i)
    const found = await sqd(
      'logs',
      '-r',
      `${org}/erc20-transfers@v1`,
      '--search',
      'last',
      '-l',
      'info',
      '--no-interactive',
    )
    expect(found.code).toBe(0)
    const none = await sqd(
      'logs',
      '-r',
      `${org}/erc20-transfers@v1`,
      '--search',
      'no such text anywhere',
      '--no-interactive',
    )
    expect(none.stdout).not.toMatch(/processor/)
  })

  test('logs -f shows a line as it is written', async () => {
    const follow = sqd.start('logs', '-r', `${org}/erc20-transfers@v1`, '-f', '-c', 'processor')
    try {
      await until(() => follow.output().includes('rate:'), 'it follows')
      await day.devnet.chain.transfer(5)
      const height = await day.devnet.chain.height()
      await until(() => follow.output().includes(`${height} / ${height}`), 'the newest block shows up')
    } finally {
      await follow.stop()
    }
  })

  test('tags are added, moved and removed', async () => {
    expect((await sqd('tags', 'add', 'stable', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect(await totalTransfers(endpointOf('erc20-transfers:stable'))).toBeGreaterThan(0)
    expect((await sqd('tags', 'remove', 'stable', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect((await fetch(endpointOf('erc20-transfers:stable'))).status).toBe(404)
  })

  test('restart', async () => {
    expect((await sqd('restart', '-r', `${org}/erc20-transfers@v1`, '--no-interactive')).code).toBe(0)
    expect(await totalTransfers(endpointOf('erc20-transfers@v1'))).toBe(await day.devnet.chain.countTransfers())
  }, 60_000)

  test('an update of the slot, and a second slot that gets the tag', async () => {
    expect((await sqd('deploy', day.project, '-o', org, '-s', 'v1', ...automatic, ...allow)).code).toBe(0)
    expect(
      (await sqd('deploy', day.project, '-o', org, '-s', 'v2', '--add-tag', 'prod', ...automatic, ...allow)).code,
    ).toBe(0)
    const squid = JSON.parse((await sqd('view', '-r', `${org}/erc20-transfers:prod`, '--json')).stdout) as {
      slot: string
    }
    expect(squid.slot).toBe('v2')
  }, 120_000)

  test('a hard reset indexes from scratch', async () => {
    expect((await sqd('deploy', day.project, '-o', org, '-s', 'v2', '--hard-reset', ...automatic, ...allow)).code).toBe(
      0,
    )
    const transfers = await day.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(endpointOf('erc20-transfers@v2'))) === transfers,
      'all transfers are indexed again',
    )
  }, 120_000)

  test('a second deployment is refused while one is running, and the client reports it', async () => {
    const first = sqd('deploy', day.project, '-o', org, '-s', 'v2', ...automatic, ...allow)
    await until(
      async () => (await sqd('view', '-r', `${org}/erc20-transfers@v2`, '--json')).stdout.includes('"DEPLOYING"'),
      'it deploys',
    )
    const second = await sqd('restart', '-r', `${org}/erc20-transfers@v2`, '--no-interactive')
    expect(second.code).toBe(2)
    expect(second.stdout + second.stderr).toMatch(/in parallel|in progress/)
    expect((await first).code).toBe(0)
  }, 120_000)

  test('remove', async () => {
    for (const slot of ['v1', 'v2'])
      expect((await sqd('remove', '-r', `${org}/erc20-transfers@${slot}`, '--no-interactive', '--force')).code).toBe(0)
    expect((await sqd('list', '-o', org)).stdout).not.toContain('erc20-transfers')
    expect((await fetch(endpointOf('erc20-transfers@v1'))).status).toBe(404)
    expect((await sqd('view', '-r', `${org}/erc20-transfers@v1`)).code).toBe(2)
  }, 60_000)
})
