import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

let cloud: TestCloud

beforeAll(async () => {
  cloud = await startTestCloud({ prebuilt: 'nothing' })
})

afterAll(() => cloud?.end())

test('the first deployment installs the dependencies and compiles the code; a second deployment of the same source reuses the image', async () => {
  const { api, devnet, org } = cloud
  const secrets = [{ action: 'UPDATE' as const, name: 'RPC_URL', value: devnet.rpcUrl }]
  await api.secrets.change({ params: { code: org }, body: { secrets } })
  const deployAndReadLog = async () => {
    const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))
    expect(deployment.failureReason).toBeNull()
    return deployment.logs.map(({ message }) => message).join('\n')
  }
  const first = await deployAndReadLog()
  const transfers = await devnet.chain.countTransfers()
  await until(
    async () => (await totalTransfers(cloud.endpointOf('erc20-transfers@v1'))) === transfers,
    'all transfers are indexed',
  )
  const second = await deployAndReadLog()
  const reused = 'This source was built before: its image is reused'
  expect(first).not.toContain(reused)
  expect(second).toContain(reused)
}, 600_000)
