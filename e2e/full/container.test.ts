import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingForDebianContainer } from '../../scripts/debian/container.ts'
import { createRuncContainer, missingForRunc, type RuncContainer } from '../../scripts/debian/runc.ts'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { openClient, type PublicClient } from '../../scripts/public-client.ts'
import { deployExample } from '../support/deploy-example.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

// runc starts the image in files that mmdebstrap makes for Debian containers.
const missing = missingForDebianContainer() ?? missingForRunc()
if (missing) console.log(`The test of the image with runc is skipped. ${missing}`)

/** Runs the image of deploy/Containerfile without Docker, with the privileges that deploy/compose.yaml gives. */
describe.skipIf(missing)('the image of Shoal, started by runc', { timeout: 900_000 }, () => {
  /** The build context of deploy/Containerfile, with the release in `dist`. */
  const buildContext = mkdtempSync(join(tmpdir(), 'shoal-runc-'))
  let container: RuncContainer
  let devnet: Devnet
  let postgres: ExternalPostgres
  let sqd: PublicClient
  let url = ''
  let settings: Record<string, string> = {}

  const start = async () => {
    container.start(settings)
    await until(
      async () => {
        if (container.exitCode() !== null) throw new Error(`Shoal ended:\n${container.log().slice(-3000)}`)
        return (await fetch(`${url}/readyz`).catch(() => null))?.ok === true
      },
      'Shoal is ready',
      300_000,
    )
  }

  beforeAll(async () => {
    execFileSync(process.execPath, ['scripts/release.ts', '--to', join(buildContext, 'dist')], { cwd: repositoryRoot })
    ;[devnet, sqd, postgres] = await Promise.all([
      startDevnet({ transfers: 5, isStreaming: false }),
      openClient(),
      startExternalPostgres({ max_connections: '300' }),
    ])
    container = createRuncContainer(buildContext)
    const database = new URL(postgres.url('shoal'))
    const chainPort = Number(new URL(devnet.rpcUrl).port)
    await container.exposeHostPort(Number(database.port))
    await container.exposeHostPort(chainPort)
    database.hostname = container.hostAddress
    url = `http://${container.address}:4000`
    settings = {
      DATABASE_URL: database.href,
      SHOAL_PUBLIC_URL: url,
      SHOAL_GATEWAY_URL: `http://${container.address}:4001/{org}`,
      SHOAL_NETWORK_ALLOW: `${container.hostAddress}:${chainPort}`,
    }
  }, 900_000)

  afterAll(async () => {
    sqd?.close()
    await container?.remove()
    await postgres?.stop()
    await devnet?.stop()
    rmSync(buildContext, { recursive: true, force: true })
  }, 300_000)

  test('the log names the protections in use; the log and "shoal doctor" report those that the container lacks', async () => {
    await start()
    const log = container.log()
    console.log(/Squids run with[^"\n]*/.exec(log)?.[0])
    for (const part of ['sandbox bubblewrap', 'a network for each version', 'a user for each version'])
      expect(log).toContain(part)
    expect(log).toContain('Memory and CPU limits of squids are not enforced')
    const report = JSON.parse(await container.exec('sh', '-c', 'shoal doctor --json || true')) as {
      checks: { name: string; status: string }[]
    }
    expect(report.checks.filter(({ status }) => status === 'failed').map(({ name }) => name)).toEqual(['cgroups'])
    expect(report.checks.find(({ name }) => name === 'disk of squids')?.status).toBe('warning')
  })

  test('a squid is deployed with the public client, and still has its data after the container was stopped and started again', async () => {
    const endpoint = await deployExample(sqd, {
      shoal: (...args) => container.exec('shoal', ...args),
      url,
      gatewayUrl: `http://${container.address}:4001`,
      rpcUrl: devnet.rpcUrl.replace('127.0.0.1', container.hostAddress),
    }).catch((error: unknown) => {
      throw new Error(container.log().slice(-5000), { cause: error })
    })
    const transfers = await devnet.chain.countTransfers()
    const hasAllTransfers = async () => (await totalTransfers(endpoint).catch(() => null)) === transfers
    await until(hasAllTransfers, 'GraphQL returns all transfers', 240_000)
    await container.stop()
    expect(container.exitCode()).toBe(0)
    await start()
    await until(hasAllTransfers, 'GraphQL returns all transfers after the restart', 240_000)
  })
})
