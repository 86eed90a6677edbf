import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from './support/shoal.ts'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** The network in the manifest, served by anvil. */
const chain = 'eth-sepolia'
let day: Day
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-rpc-'))
  const config = join(folder, 'rpc.json')
  const devnetPort = await freePort()
  const upstreams = [{ name: 'anvil', url: `http://127.0.0.1:${devnetPort}`, archive: true }]
  writeFileSync(config, JSON.stringify({ chains: { [chain]: { chainId: 31_337, upstreams } } }))
  day = await startDay({ env: { SHOAL_RPC_CONFIG: config }, devnetPort })
}, 180_000)

afterAll(async () => {
  await day?.end()
  if (folder) rmSync(folder, { recursive: true, force: true })
})

test('a squid with the rpc addon indexes through the gateway alone, before and after a key rotation', async () => {
  const { api, project, shoal } = day
  const params = { code: day.org }
  const manifest = join(project, 'squid.yaml')
  const text = readFileSync(manifest, 'utf8')
  const withAddon = text
    .replace('RPC_URL: ${{ secrets.RPC_URL }}', `RPC_URL: \${{ addons.rpc.${chain}.http }}`)
    .replace('    postgres:\n', `    postgres:\n    rpc: [${chain}.http]\n`)
  writeFileSync(manifest, withAddon)
  const { token } = await api.rpc.getToken({ params })

  const done = await ended(day, await deploy(day, { slot: 'v1' }))
  expect(done.failureReason).toBeNull()
  const indexes = (transfers: number) =>
    until(
      async () => (await totalTransfers(day.endpointOf('erc20-transfers@v1'))) === transfers,
      `${transfers} transfers are indexed`,
    )
  await indexes(await day.devnet.chain.countTransfers())

  const counted = async () => {
    const { metrics } = await api.rpc.getChain({ params: { ...params, id: chain } })
    return {
      requests: metrics.reduce((sum, metric) => sum + metric.requests, 0),
      methods: new Set(metrics.map(({ method }) => method)),
    }
  }
  const before = await until(async () => {
    const { requests, methods } = await counted()
    return ['eth_getBlockByNumber', 'eth_getLogs'].every((method) => methods.has(method)) ? requests : 0
  }, 'requests of the squid are counted')

  const { oldKeys } = await shoal.cli<{ oldKeys: string[] }>('secrets', 'rotate-key')
  expect(oldKeys).toHaveLength(1)
  await shoal.cli('secrets', 'drop-old-keys')
  expect(await api.rpc.getToken({ params })).toEqual({ token })
  await day.devnet.chain.transfer(5)
  await indexes(await day.devnet.chain.countTransfers())
  await until(async () => (await counted()).requests > before, 'further requests are counted')

  const reference = 'erc20-transfers@v1'
  const { logs } = await api.logs.history({ params: { ...params, reference }, query: { limit: '10000' } })
  expect(logs.length).toBeGreaterThan(0)
  expect(JSON.stringify(logs)).not.toContain(token)
}, 180_000)
