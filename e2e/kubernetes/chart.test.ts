import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasS3Server } from '../../scripts/s3-server.ts'
import { type ChartInstallation, installChart, laterBlocks } from '../support/chart-installation.ts'
import { chart, missingHelm } from '../support/chart.ts'
import { hasClusterNetwork } from '../support/cluster-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl } from '../support/kubernetes.ts'
import { useCompiledCode } from '../support/prebuilt.ts'
import { repositoryRoot } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

const isPossible = hasCluster && hasClusterNetwork && missingHelm === null && hasS3Server()

describe.skipIf(!isPossible)('Shoal, installed by the chart', () => {
  let shoal: ChartInstallation
  let endpoint: string
  const folder = mkdtempSync(join(tmpdir(), 'squid-'))

  beforeAll(async () => {
    shoal = await installChart()
    endpoint = `${shoal.gatewayUrl}/acme-labs/erc20-transfers@v1/api/graphql`
  }, 900_000)

  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    await shoal?.end()
  }, 180_000)

  test(
    'deploys the example squid through the Service of the api, and responds to GraphQL through that of the gateways',
    { timeout: 900_000 },
    async () => {
      const { api, token, org } = shoal.org
      const project = join(folder, 'erc20-transfers')
      const isSource = (path: string) => !/\/(node_modules|lib|builds)(\/|$)/.test(path)
      cpSync(join(repositoryRoot, 'examples/erc20-transfers'), project, { recursive: true, filter: isSource })
      useCompiledCode(project)
      const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: shoal.rpcUrl }]
      await api.secrets.change({ params: { code: org }, body: { secrets } })
      const cloud = { api, token, org, project, shoal: { url: shoal.url } }
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 800_000)
      expect(deployment).toMatchObject({ status: 'OK', failed: 'NO' })
      const transfers = await shoal.devnet.chain.countTransfers()
      await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
    },
  )

  test('responds to every request while it is upgraded and rolled back', { timeout: 900_000 }, async () => {
    const failures: string[] = []
    let count = 0
    let isEnding = false
    const send = async () => {
      while (!isEnding) {
        const [transfers, userStatus] = await Promise.all([
          totalTransfers(endpoint).catch(String),
          fetch(`${shoal.url}/api/v1/user`, { headers: { authorization: `token ${shoal.org.token}` } }).then(
            async (response) => (response.ok ? response.status : `${response.status} ${await response.text()}`),
            String,
          ),
        ])
        count += 2
        if (typeof transfers !== 'number') failures.push(`squid: ${transfers}`)
        if (userStatus !== 200) failures.push(`api: ${userStatus}`)
      }
    }
    const sending = Promise.all([send(), send(), send(), send()])
    try {
      await shoal.helm(
        'upgrade',
        chart,
        ...shoal.values,
        '--set',
        'settings.SHOAL_LOG_RETENTION_DAYS=7',
        '--wait',
        '--timeout',
        '8m',
      )
      await shoal.helm('rollback', '1', '--wait', '--timeout', '8m')
    } finally {
      isEnding = true
      await sending
    }
    console.log(`${count} requests during an upgrade and a rollback, failed: ${failures.join(', ') || 'none'}`)
    expect(failures).toEqual([])
    const revisions = await shoal.helm('history')
    expect(revisions).toContain('Rollback to 1')
  })

  test(
    'leaves squids running when it is uninstalled, and adopts them when it is installed again',
    { timeout: 900_000 },
    async () => {
      const pods = async () =>
        await kubectl(['get', 'pods', '-A', '-l', shoal.selector, '-o', 'jsonpath={.items[*].metadata.uid}'])
      const before = await pods()
      expect(before.split(' ')).toHaveLength(2)
      await shoal.helm('uninstall', '--wait')
      expect(await pods()).toBe(before)
      await shoal.helm('install', chart, ...shoal.values, '--wait', '--timeout', '8m')
      const port = await kubectl([
        'get',
        'service',
        '-n',
        shoal.namespace,
        'shoal-gateway',
        '-o',
        'jsonpath={.spec.ports[0].nodePort}',
      ])
      const address = new URL(endpoint)
      address.port = port
      await until(
        async () => (await totalTransfers(address.href).catch(() => null)) !== null,
        'the squid responds again',
      )
      expect(await pods()).toBe(before)
    },
  )

  test('every other command of docs/install/kubernetes.md works', { timeout: 900_000 }, async () => {
    const outputs: string[] = []
    for (const commands of laterBlocks) outputs.push(await shoal.runBlock(commands))
    const printed = outputs.join('\n')
    expect(printed).toMatch(/^token +\S+$/m)
    expect(printed).toContain('Rollback was a success')
    expect(printed).toContain('release "shoal" uninstalled')
  })
})
