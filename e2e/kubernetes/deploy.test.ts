import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterCloud, hasClusterNetwork, startClusterCloud } from '../support/cluster-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { hasCluster, kubectl, nodeNames } from '../support/kubernetes.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

describe.skipIf(!hasCluster || !hasClusterNetwork)('a squid deployed to a cluster', () => {
  let opened: ClusterCloud

  beforeAll(async () => {
    opened = await startClusterCloud()
  }, 600_000)

  afterAll(() => opened?.end(), 120_000)

  test('indexes the chain in pods and answers GraphQL through the gateway', { timeout: 600_000 }, async () => {
    const { cloud, selector } = opened
    const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }), 500_000)
    expect(deployment, cloud.shoal.output().slice(-3000)).toMatchObject({ status: 'OK', failed: 'NO' })
    const transfers = await cloud.devnet.chain.countTransfers()
    const endpoint = cloud.endpointOf('erc20-transfers@v1')
    await until(async () => (await totalTransfers(endpoint)) === transfers, 'all transfers are indexed')
    const pods = await kubectl(['get', 'pods', '-A', '-l', selector, '-o', 'jsonpath={.items[*].spec.nodeName}'])
    expect(await nodeNames()).toEqual(expect.arrayContaining(pods.split(' ')))
  })
})
