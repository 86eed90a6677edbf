import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { hasClusterNetwork, relayTo } from '../support/cluster-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { freePort } from '../support/free-port.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { hostEnvironment, processesIn, runCli } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { until } from '../support/until.ts'

type Settings = Record<string, string>

const host = process.env['SHOAL_TEST_HOST_ADDRESS'] ?? ''

describe.skipIf(!hasCluster || !hasClusterNetwork)(
  'an installation that moves from one machine to a cluster, and back',
  () => {
    const cleanup = new AsyncDisposableStack()
    const folder = mkdtempSync(join(tmpdir(), 'shoal-move-'))
    let cloud: TestCloud
    let controlPlane: ExternalPostgres
    let machine: Settings
    let cluster: Settings
    let selector: string

    beforeAll(async () => {
      cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
      controlPlane = await startExternalPostgres()
      cleanup.defer(() => controlPlane.stop())
      const squids = await startExternalPostgres()
      cleanup.defer(() => squids.stop())
      const openPort = async (port: number) => {
        const opened = await relayTo(port)
        cleanup.defer(() => void opened.server.close())
        return opened.port
      }
      const squidsUrl = new URL(squids.url('postgres'))
      squidsUrl.port = String(await openPort(Number(squidsUrl.port)))
      squidsUrl.hostname = host
      const devnetPort = await freePort()
      const chainPort = await openPort(devnetPort)
      cloud = await startTestCloud({ devnetPort, env: { SHOAL_NETWORK_ALLOW: `${host}:${chainPort}` } })
      cleanup.defer(() => cloud.end())
      const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: `http://${host}:${chainPort}` }]
      await cloud.api.secrets.change({ params: { code: cloud.org }, body: { secrets } })
      machine = { ...cloud.shoal.settings }
      cluster = {
        ...machine,
        DATABASE_URL: controlPlane.url('shoal'),
        SHOAL_SQUIDS_DATABASE_URL: squidsUrl.href,
        SHOAL_RUNTIME: 'kubernetes',
        SHOAL_KUBECONFIG: process.env['SHOAL_TEST_KUBECONFIG'] ?? '',
        SHOAL_KUBE_GATEWAYS: host,
        SHOAL_KUBE_CPU_RATIO: '0.1',
        SHOAL_REGISTRY: `http://${process.env['SHOAL_TEST_REGISTRY']}/move-${randomBytes(4).toString('hex')}`,
        SHOAL_GATEWAY_URL: `http://${host}:${await freePort()}/{org}`,
        SHOAL_ON_EXIT: 'keep',
      }
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1', tag: 'live' }))
      expect(deployment).toMatchObject({ status: 'OK', failed: 'NO' })
      await requireIndexing()
    }, 600_000)

    afterAll(async () => {
      if (selector) await kubectl(['delete', 'namespace', '-l', selector, '--wait=false'])
      await cleanup.disposeAsync()
    }, 180_000)

    const endpoint = () => cloud.endpointOf('erc20-transfers:live')

    async function requireIndexing(): Promise<void> {
      await cloud.devnet.chain.transfer(3)
      const all = await cloud.devnet.chain.countTransfers()
      await until(async () => (await totalTransfers(endpoint())) === all, `${all} transfers are indexed`, 240_000)
    }

    /** Stops the server, moves the installation, and starts the server with the settings of the target. Returns how long the api did not respond. */
    async function move(
      from: Settings,
      to: Settings,
    ): Promise<{ downtimeSeconds: number; moved: Record<string, unknown> }> {
      const file = join(folder, 'target.env')
      const lines = Object.entries(to).map(([name, value]) => `${name}=${value}\n`)
      writeFileSync(file, lines.join(''))
      await cloud.shoal.stop()
      const startedMs = performance.now()
      const moved = await runCli<Record<string, unknown>>({ ...hostEnvironment(), ...from }, [
        'move-runtime',
        '--to',
        file,
      ])
      for (const name of Object.keys(cloud.shoal.settings)) delete cloud.shoal.settings[name]
      Object.assign(cloud.shoal.settings, to)
      await cloud.shoal.start()
      await until(
        async () => (await totalTransfers(endpoint()).catch(() => null)) !== null,
        'the api responds',
        300_000,
      )
      const downtimeSeconds = Math.round((performance.now() - startedMs) / 100) / 10
      process.stderr.write(`the api did not respond for ${downtimeSeconds} s: ${JSON.stringify(moved)}\n`)
      return { downtimeSeconds, moved }
    }

    const pods = async () =>
      (await kubectl(['get', 'pods', '-A', '-l', selector, '-o', 'name'])).split('\n').filter(Boolean)

    test('its squid continues in pods, with its rows, tag and secret', { timeout: 600_000 }, async () => {
      const { moved } = await move(machine, cluster)
      expect(moved).toMatchObject({ versions: 1, databases: 1 })
      const client = new Client(controlPlane.url('shoal'))
      await client.connect()
      const { rows } = await client.query<{ prefix: string; image: string }>(
        'select prefix, image from installation, squids',
      )
      await client.end()
      selector = `shoal.dev/installation=${rows[0]?.prefix}`
      expect(rows[0]?.image).toContain('@sha256:')
      await requireIndexing()
      expect((await pods()).length).toBeGreaterThanOrEqual(2)
      expect(processesIn(cloud.shoal.dataDir)).toEqual([])
      await until(() => cloud.shoal.output().includes('1 of 1 versions run again'), 'the log shows the end of the move')
    })

    test('it moves back to the machine, and no pod remains', { timeout: 600_000 }, async () => {
      const { moved } = await move(cluster, machine)
      expect(moved).toMatchObject({ versions: 1, databases: 1 })
      await requireIndexing()
      await until(async () => (await pods()).length === 0, 'no pod remains', 120_000)
      expect(processesIn(cloud.shoal.dataDir)).not.toEqual([])
    })
  },
)
