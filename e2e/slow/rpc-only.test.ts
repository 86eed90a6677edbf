import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRpcCloud, type RpcCloud } from '../support/rpc-cloud.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

let cloud: RpcCloud

beforeAll(async () => {
  cloud = await startRpcCloud('dependencies and code')
})

afterAll(() => cloud?.end())

test('a squid with the addon rpc indexes its chain through the gateway, before and after a rotation of the installation’s key', async () => {
  const { api, shoal } = cloud
  const params = { code: cloud.org }
  const { token } = await api.rpc.getToken({ params })

  await cloud.deployTo('v1')
  const untilIndexed = (transfers: number) =>
    until(
      async () => (await totalTransfers(cloud.endpointOf('erc20-transfers@v1'))) === transfers,
      `${transfers} transfers are indexed`,
    )
  await untilIndexed(await cloud.devnet.chain.countTransfers())

  const readCounts = async () => {
    const { metrics } = await api.rpc.getChain({ params: { ...params, id: 'eth-sepolia' } })
    return {
      requests: metrics.reduce((sum, metric) => sum + metric.requests, 0),
      methods: new Set(metrics.map(({ method }) => method)),
    }
  }
  const before = await until(async () => {
    const { requests, methods } = await readCounts()
    return ['eth_getBlockByNumber', 'eth_getLogs'].every((method) => methods.has(method)) ? requests : 0
  }, 'the API returns the requests of the squid')

  const { oldKeys } = await shoal.cli<{ oldKeys: string[] }>('secrets', 'rotate-key')
  expect(oldKeys).toHaveLength(1)
  await shoal.cli('secrets', 'drop-old-keys')
  expect(await api.rpc.getToken({ params })).toEqual({ token })
  await cloud.devnet.chain.transfer(5)
  await untilIndexed(await cloud.devnet.chain.countTransfers())
  await until(async () => (await readCounts()).requests > before, 'further requests are counted')

  const reference = 'erc20-transfers@v1'
  const { logs } = await api.logs.history({ params: { ...params, reference }, query: { limit: '10000' } })
  expect(logs.length).toBeGreaterThan(0)
  expect(JSON.stringify(logs)).not.toContain(token)
})
