import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { type InstalledCollector, canInstallCollector, installCollector } from '../support/collector.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl, nodeNames } from '../support/kubernetes.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

describe.skipIf(!hasCluster || !hasClusterNetwork)('a squid deployed to a cluster', () => {
  let opened: ClusterCloud
  let collector: InstalledCollector | null = null

  beforeAll(async () => {
    if (await canInstallCollector()) collector = await installCollector()
    const listen = collector && {
      SHOAL_KUBE_LOGS_LISTEN: `${collector.host}:${collector.port}`,
      SHOAL_KUBE_LOGS_TOKEN: collector.token,
    }
    opened = await startClusterCloud(listen ?? {})
  }, 1_200_000)

  afterAll(async () => {
    await collector?.remove()
    await opened?.end()
  }, 180_000)

  test(
    'indexes the chain in pods, has one of its two apis on each node, and responds to GraphQL queries through the gateway',
    { timeout: 600_000 },
    async () => {
      const { cloud, selector } = opened
      appendFileSync(
        join(cloud.project, 'squid.yaml'),
        '\nscale: {dedicated: true, addons: {postgres: {profile: small}}, processor: {profile: small}, api: {profile: small, replicas: 2}}\n',
      )
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
      expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
      expect(cloud.shoal.output()).toContain('Builds run in the cluster and reach this worker at')
      const transfers = await cloud.devnet.chain.countTransfers()
      const endpoint = cloud.endpointOf('erc20-transfers@v1')
      await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
      const apis = `${selector},shoal.dev/container in (api,api-2)`
      const apiNodes = await kubectl(['get', 'pods', '-A', '-l', apis, '-o', 'jsonpath={.items[*].spec.nodeName}'])
      expect(apiNodes.split(' ').toSorted()).toEqual((await nodeNames()).toSorted())
      const params = { code: cloud.org, reference: 'erc20-transfers@v1' }
      const { id } = await cloud.api.squids.get({ params })
      const from = new Date(Date.now() - 3_600_000).toISOString()
      await until(async () => {
        const usage = { params: { code: cloud.org, squidId: String(id) }, query: { from } }
        const { metrics } = await cloud.api.metrics.getSquidUsage(usage)
        return metrics.some((point) => Number(point.apiCpuUsage) > 0 && Number(point.processorCpuUsage) > 0)
      }, 'the API returns the usage of both programs')
      for (const container of ['api', 'processor']) {
        const query = { limit: '100', container: [container] }
        await until(
          async () => (await cloud.api.logs.history({ params, query })).logs.length > 0,
          `logs of ${container}`,
        )
      }
    },
  )

  test('after the worker was killed, a build runs again in another Job', { timeout: 600_000 }, async () => {
    const { cloud, selector } = opened
    const file = join(cloud.project, 'package.json')
    const { scripts, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as { scripts: Record<string, string> }
    writeFileSync(file, JSON.stringify({ ...rest, scripts: { ...scripts, build: 'echo it runs; sleep 20' } }))
    const id = await deploy(cloud, { slot: 'v2' })
    const buildPods = ['get', 'pods', '-A', '-l', `${selector},shoal.dev/build`]
    const read = () => cloud.api.deployments.get({ params: { code: cloud.org, id: String(id) } })
    const readLog = async () => (await read()).logs.map(({ message }) => message).join('\n')
    await until(async () => (await readLog()).includes('it runs'), 'the build runs', 240_000)
    const [first = ''] = (await kubectl([...buildPods, '-o', 'jsonpath={.items[*].metadata.name}'])).split(' ')
    await cloud.shoal.kill()
    const phases = () => kubectl([...buildPods, '-o', 'jsonpath={.items[*].status.phase}'])
    await until(
      async () => !(await phases()).includes('Running'),
      'the pod has ended, because its connection to the worker has ended',
      120_000,
    )
    await cloud.shoal.start()
    const deployment = await waitForDeployment(cloud, id, 500_000)
    expect(deployment, await readLog()).toMatchObject({ status: 'OK', failed: 'NO' })
    const jobs = () => kubectl(['get', 'jobs,pods', '-A', '-l', `${selector},shoal.dev/build`, '-o', 'name'])
    await until(async () => (await jobs()) === '', 'no Job of the build remains', 120_000)
    expect(first).toMatch(/^build-/)
  })
})
