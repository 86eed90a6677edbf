import { RPC_ENDPOINT_NAMES } from '@subsquid/manifest'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/index.ts'
import { chainsOf, saveUpstreamStates } from '../chains/index.ts'
import { readRpcConfig } from '../chains/rpc-config.ts'
import { rpcVariables } from './index.ts'
import { addRpcUsage } from './store.ts'

const dir = mkdtempSync(join(tmpdir(), 'rpc-config-'))
const configFile = join(dir, 'rpc.yaml')
let t: TestApp

beforeAll(async () => {
  writeFileSync(
    configFile,
    `chains:
  eth:
    upstreams:
      - { name: own node, url: 'http://10.0.0.1:8545/key', archive: true }
      - { url: 'https://spare.example.com/v2/key', rate: 50, priority: 1, headers: { x-key: k } }
  polkadot:
    upstreams: [{ url: 'http://10.0.0.2:9933' }]
  our-chain: { title: Our Chain, chainId: 4242, testnet: true, upstreams: [{ url: 'http://10.0.0.3:8545' }] }
`,
  )
  t = await startTestApp({ env: { SHOAL_RPC_CONFIG: configFile, SHOAL_DEVNET_URL: 'http://127.0.0.1:8545' } })
})
afterAll(async () => {
  await t?.close()
  rmSync(dir, { recursive: true, force: true })
})

test('the chains are all networks that a manifest may name, and the configured ones', async () => {
  const { admin, code } = await t.make.org()
  const chains = await t.as(admin).rpc.listChains({ params: { code } })
  const names = RPC_ENDPOINT_NAMES.map((name) => name.replace('.http', ''))
  expect(names).toHaveLength(85)
  expect(chains.map((c) => c.id).toSorted()).toEqual([...names, 'devnet', 'our-chain'].toSorted())
  expect(chains.find((c) => c.id === 'eth-sepolia')).toEqual({
    id: 'eth-sepolia',
    title: 'Sepolia',
    iconUrl: '/api/v1/icons/Sepolia',
    type: 'evm',
    testnet: true,
    requests: '0',
    url: 'http://localhost:4001/rpc/eth-sepolia/{TOKEN}',
  })
  const icons = await Promise.all(chains.map(({ iconUrl }) => t.http.inject(iconUrl ?? '')))
  for (const icon of icons) {
    expect(icon.statusCode).toBe(200)
    expect(icon.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'public, max-age=604800' })
    expect(icon.body).toMatch(/^<svg [^>]+>.*>[A-Za-z0-9]{1,2}<\/text><\/svg>$/)
  }
  expect((await t.http.inject('/api/v1/icons/%3Cscript%3E%22')).body).toContain('>sc</text>')
  expect(chains.find((c) => c.id === 'our-chain')).toMatchObject({ title: 'Our Chain', testnet: true, type: 'evm' })
  expect(chains.map((c) => c.title)).toEqual(chains.map((c) => c.title).toSorted((a, b) => a.localeCompare(b)))
  const withoutNodes = chainsOf(t.app)
    .all()
    .filter((c) => c.type === 'evm' && c.upstreams.length === 0)
  expect(withoutNodes.map((c) => c.id)).toEqual(['shibuya'])
})

test('SHOAL_RPC_CONFIG replaces public nodes, and each error in it is reported with its line', async () => {
  const eth = chainsOf(t.app).find('eth')
  expect(eth?.upstreams.map((u) => [u.name, u.archive, u.rate, u.priority])).toEqual([
    ['own node', true, undefined, 0],
    ['upstream 2', false, 50, 1],
  ])
  const readText = (text: string) => {
    writeFileSync(join(dir, 'wrong.yaml'), text)
    return () => readRpcConfig(join(dir, 'wrong.yaml'))
  }
  expect(readText('chains:\n  eth:\n    upstreams:\n      - url: nonsense\n')).toThrow(
    /wrong\.yaml:4: chains\.eth\.upstreams\.0\.url: an http or https address/,
  )
  expect(readText('chains:\n  eth:\n    upstreams:\n      - url: http://a\n        rates: 5\n')).toThrow(
    /wrong\.yaml:5: .*rates/,
  )
  expect(readText('chains:\n  eth:\n    upstreams: []\n')).toThrow(/wrong\.yaml:3: .*at least one upstream/)
  expect(readText('{"chains": {\n"eth": {"upstreams": [{}]\n}')).toThrow(/wrong\.yaml:\d/)
  expect(readText('chain: {}\n')).toThrow(/wrong\.yaml:1/)
})

test('an organization has one token, which an administrator can replace', async () => {
  const org = await t.make.org()
  const viewer = await t.make.member(org, 'viewer')
  const developer = await t.make.member(org, 'developer')
  const outsider = await t.make.user()
  const params = { code: org.code }
  const [token, sameToken] = await Promise.all(
    [org.admin, developer].map((user) => t.as(user).rpc.getToken({ params })),
  )
  expect(token?.token).toMatch(/^shoal_rpc_[\w-]{32}$/)
  expect(sameToken).toEqual(token)
  await expect(t.as(developer).rpc.createToken({ params })).rejects.toMatchObject({ status: 405 })
  await expect(t.as(outsider).rpc.getToken({ params })).rejects.toMatchObject({ status: 404 })
  const replaced = await t.as(org.admin).rpc.createToken({ params })
  expect(replaced.token).not.toBe(token?.token)
  expect(await t.as(developer).rpc.getToken({ params })).toEqual(replaced)
  await expect(t.as(viewer).rpc.getToken({ params })).rejects.toMatchObject({ status: 405 })
})

test('a token can be replaced during payment issues, because it still works', async () => {
  const { admin, code } = await t.make.org({ status: 'PAYMENT_ISSUES' })
  const before = await t.as(admin).rpc.getToken({ params: { code } })
  expect(await t.as(admin).rpc.createToken({ params: { code } })).not.toEqual(before)
})

test('the token of an organization that is not active cannot be replaced', async () => {
  for (const status of ['DRAFT', 'IN_DEBT', 'TERMINATED'] as const) {
    const { admin, code } = await t.make.org({ status })
    await expect(t.as(admin).rpc.createToken({ params: { code } })).rejects.toMatchObject({
      status: 405,
      message: 'Organization is not active. Please make sure your billing information is set up correctly.',
    })
  }
  const user = await t.make.user()
  const params = { code: user.playground.code }
  await expect(t.as(user).rpc.createToken({ params })).rejects.toMatchObject({ status: 405 })
  expect((await t.as(user).rpc.getToken({ params })).token).toMatch(/^shoal_rpc_/)
})

test("a chain is returned with its nodes' names, and with the organization's requests by method and time", async () => {
  const [org, other] = await Promise.all([t.make.org(), t.make.org()])
  const now = t.clock.now()
  const hour = (ago: number) => new Date(Math.floor(now.getTime() / 3_600_000 - ago) * 3_600_000)
  const row = { orgId: org.id, chain: 'eth', method: 'eth_call', version: '', requests: 3, failures: 1 }
  await addRpcUsage(t.app.db, [
    { ...row, hour: hour(0) },
    { ...row, hour: hour(0), version: 'squid@v1' },
    { ...row, hour: hour(30), method: 'eth_getLogs' },
    { ...row, hour: hour(24 * 20) },
    { ...row, hour: hour(0), orgId: other.id, requests: 99 },
  ])
  await saveUpstreamStates(t.app.db, [
    {
      chain: 'eth',
      upstream: 'own node',
      isHealthy: true,
      isArchive: true,
      headBlock: 20,
      finalizedBlock: 10,
      latencyP50Ms: 3,
      latencyP95Ms: 9,
      reason: null,
      observedAt: now,
    },
    {
      chain: 'eth',
      upstream: 'no longer configured',
      isHealthy: true,
      isArchive: true,
      headBlock: 99,
      finalizedBlock: 10,
      latencyP50Ms: 3,
      latencyP95Ms: 9,
      reason: null,
      observedAt: now,
    },
  ])
  const params = { code: org.code, id: 'eth' }
  const chain = await t.as(org.admin).rpc.getChain({ params })
  expect(chain).toMatchObject({
    id: 'eth',
    chainId: 1,
    isConfigured: true,
    headBlock: 20,
    finalizedBlock: 10,
    timeGroup: 'Hour',
    requests: '9',
  })
  expect(chain.upstreams).toEqual([
    {
      name: 'own node',
      isHealthy: true,
      isArchive: true,
      headBlock: 20,
      finalizedBlock: 10,
      latencyP50Ms: 3,
      latencyP95Ms: 9,
      reason: null,
      observedAt: now.toISOString(),
    },
  ])
  expect(JSON.stringify(chain)).not.toMatch(/10\.0\.0\.1|spare\.example/)
  expect(chain.metrics).toEqual([
    { ts: hour(30).toISOString(), method: 'eth_getLogs', requests: 3, failures: 1 },
    { ts: hour(0).toISOString(), method: 'eth_call', requests: 6, failures: 2 },
  ])
  const month = await t
    .as(org.admin)
    .rpc.getChain({ params, query: { from: hour(24 * 30).toISOString(), to: now.toISOString() } })
  expect([month.timeGroup, month.metrics.length]).toEqual(['Day', 3])
  t.clock.advance(61_000)
  expect((await t.as(org.admin).rpc.getChain({ params })).upstreams).toEqual([])
  await expect(t.as(org.admin).rpc.getChain({ params: { ...params, id: 'nowhere' } })).rejects.toMatchObject({
    status: 404,
  })
  await expect(
    t.as(org.admin).rpc.getChain({ params, query: { from: '2026-02-01', to: '2026-01-01' } }),
  ).rejects.toMatchObject({ status: 400 })
})

test('the rpc addon sets variables with URLs that contain the token', async () => {
  const { admin, code, id } = await t.make.org()
  const { token } = await t.as(admin).rpc.getToken({ params: { code } })
  expect(await rpcVariables(t.app, id, ['eth.http', 'arbitrum-one:http'])).toEqual({
    RPC_ETH_HTTP: `http://localhost:4001/rpc/eth/${token}`,
    RPC_ARBITRUM_ONE_HTTP: `http://localhost:4001/rpc/arbitrum-one/${token}`,
  })
  expect(await rpcVariables(t.app, id, [])).toEqual({})
})

test('request counts are added to the quota of the organization', async () => {
  const user = await t.make.user()
  const params = { code: user.playground.code }
  const org = await t.as(user).orgs.get({ params })
  const row = { orgId: org.id, chain: 'eth', method: 'eth_call', version: '', requests: 12_345, failures: 0 }
  await addRpcUsage(t.app.db, [{ ...row, hour: t.clock.now() }])
  expect(await t.as(user).orgs.getQuotas({ params })).toEqual([{ id: 'rpc', usage: '12345', capacity: '500000' }])
})

test('request counts of a deleted organization are dropped, and those of others are saved', async () => {
  const { id } = await t.make.org()
  const row = { chain: 'eth', method: 'eth_call', version: '', requests: 1, failures: 0, hour: t.clock.now() }
  const totals = await addRpcUsage(t.app.db, [
    { ...row, orgId: id },
    { ...row, orgId: 999_999 },
  ])
  expect(totals.map((total) => [total.orgId, total.used])).toEqual([[id, 1]])
})
