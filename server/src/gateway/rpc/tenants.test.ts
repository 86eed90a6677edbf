import { limits, type OrgStatus } from '@shoal/contract'
import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../scripts/devnet/devnet.ts'
import { findOrgByCode } from '../../modules/orgs/index.ts'
import {
  addUsage,
  rpcTokenOf,
  rpcUpstreamStates,
  rpcUsage,
  rpcUsageOfMonth,
  rpcWatchChannel,
} from '../../modules/rpc/index.ts'
import { notify } from '../../modules/rpc/store.ts'
import { refreshRpcToken } from '../../modules/rpc/tokens.ts'
import { call, post, startTestGateway, startTestPlane, until, type TestPlane } from './testbed.ts'

let devnet: Devnet
let t: TestPlane

beforeAll(async () => {
  devnet = await startDevnet()
  t = await startTestPlane({ SHOAL_DEVNET_URL: devnet.rpcUrl, SHOAL_RPC_RATE: '50' })
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

const urlOf = async (orgId: number) => t.gateway.urlOf('devnet', await rpcTokenOf(t.app, orgId))
const balance = call('eth_getBalance', ['0x00000000000000000000000000000000000000aa', 'latest'], 'mine')

test('viewing a chain makes the gateways poll its nodes', async () => {
  expect(await t.app.db.select().from(rpcUpstreamStates)).toEqual([])
  const viewChain = async () => {
    // Every view sends a notification, since one before the gateway listens is lost.
    await notify(t.app.db, rpcWatchChannel, 'devnet')
    return await t.app.db.select().from(rpcUpstreamStates)
  }
  const [seen] = await until(viewChain, (rows) => rows[0]?.isHealthy === true)
  expect(seen).toMatchObject({
    chain: 'devnet',
    upstream: 'devnet',
    headBlock: await devnet.chain.height(),
    reason: null,
  })
})

test('requests are counted by chain, method and version for their organization within a second', async () => {
  const [mine, other] = await Promise.all([t.make.org(), t.make.org()])
  const url = await urlOf(mine.id)
  await rpcTokenOf(t.app, other.id)
  await post(url, call('eth_chainId'), { 'x-squid-id': 'erc20@v1' })
  await post(url, [call('eth_chainId', [], 1), call('eth_chainId', [], 2), call('eth_blockNumber', [], 3)])
  await post(url, call('eth_call', [{ to: devnet.token, data: '0xa9059cbb' }]))
  await post(url, call('anvil_reset'))
  await post(url, '{')
  const rows = await until(
    () => t.app.db.select().from(rpcUsage).where(eq(rpcUsage.orgId, mine.id)),
    (found) => found.reduce((sum, r) => sum + r.requests, 0) === 5,
    2_500,
  )
  const counted = rows.map((r) => [r.chain, r.method, r.version, r.requests, r.failures].join(' ')).toSorted()
  expect(counted).toEqual([
    'devnet anvil_reset  0 1',
    'devnet eth_blockNumber  1 0',
    'devnet eth_call  1 0',
    'devnet eth_chainId  2 0',
    'devnet eth_chainId erc20@v1 1 0',
  ])
  expect(rows[0]?.hour).toEqual(new Date('2026-01-15T12:00:00Z'))
  expect(await rpcUsageOfMonth(t.app.db, mine.id, t.clock.now())).toBe(5)
  expect(await rpcUsageOfMonth(t.app.db, other.id, t.clock.now())).toBe(0)
})

test('a playground over its monthly quota gets HTTP 429 with the id of the call, and can continue in the next month', async () => {
  const user = await t.make.user()
  const playground = await findOrgByCode(t.app.db, user.playground.code)
  if (!playground) throw new Error('There is no playground')
  const hour = t.clock.now()
  const requests = limits.playgroundRpcRequests - 3
  await addUsage(t.app.db, [
    { orgId: playground.id, chain: 'eth', method: 'eth_call', version: '', hour, requests, failures: 0 },
  ])
  const url = await urlOf(playground.id)
  expect((await post(url, balance)).status).toBe(200)
  expect((await post(url, [balance, balance, balance])).status).toBe(429)
  expect((await post(url, [balance, balance])).status).toBe(200)
  const refused = await post(url, balance)
  expect(refused).toMatchObject({
    status: 429,
    body: {
      jsonrpc: '2.0',
      id: 'mine',
      error: { code: -32005, message: expect.stringMatching(/500,000 RPC requests/) },
    },
  })
  t.clock.advance(31 * 86_400_000)
  await until(
    () => post(url, balance),
    (o) => o.status === 200,
  )
})

test('organizations with overdue payments are refused, those with a single failed charge are not', async () => {
  const statusOf = async (status: OrgStatus) => {
    const org = await t.make.org({ status })
    return post(await urlOf(org.id), balance)
  }
  expect((await statusOf('ACTIVE')).status).toBe(200)
  expect((await statusOf('PAYMENT_ISSUES')).status).toBe(200)
  for (const status of ['IN_DEBT', 'TERMINATED'] as const)
    expect(await statusOf(status)).toMatchObject({
      status: 403,
      body: { id: 'mine', error: { message: expect.stringMatching(/^Payment is overdue/) } },
    })
  expect(await statusOf('DRAFT')).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringMatching(/^Organization is not active/) } },
  })
})

test('a replaced token is refused by all gateways immediately, and the new one works', async () => {
  const org = await t.make.org()
  const second = await startTestGateway(t.app)
  try {
    const old = await rpcTokenOf(t.app, org.id)
    const urls = [t.gateway.urlOf('devnet', old), second.urlOf('devnet', old)]
    for (const url of urls) expect((await post(url, balance)).status).toBe(200)
    const fresh = await refreshRpcToken(t.app, org.id)
    expect(await rpcTokenOf(t.app, org.id)).toBe(fresh)
    for (const url of urls)
      expect(
        await until(
          () => post(url, balance),
          (o) => o.status === 401,
          500,
        ),
      ).toMatchObject({ body: { id: 'mine', error: { code: -32001 } } })
    expect((await post(t.gateway.urlOf('devnet', fresh), balance)).status).toBe(200)
  } finally {
    await second.close()
  }
})

test('unknown tokens, unknown chains and chains without a node are refused', async () => {
  const org = await t.make.org()
  const token = await rpcTokenOf(t.app, org.id)
  for (const wrong of ['', 'x', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`])
    expect((await post(t.gateway.urlOf('devnet', wrong), balance)).status).toBe(401)
  expect((await post(t.gateway.urlOf('nowhere', token), balance)).status).toBe(404)
  expect(await post(t.gateway.urlOf('polkadot', token), call('system_chain', [], 'mine'))).toMatchObject({
    status: 503,
    body: {
      id: 'mine',
      error: { code: -32002, message: 'No node is configured for Polkadot. The operator can add one.' },
    },
  })
})

test('an organization cannot exceed its rate, and each call of a batch counts', async () => {
  const [fast, calm] = await Promise.all([t.make.org(), t.make.org()])
  const url = await urlOf(fast.id)
  const batch = Array.from({ length: 40 }, (_, id) => call('eth_chainId', [], id))
  expect((await post(url, batch)).status).toBe(200)
  const refused = await post(url, batch)
  expect(refused).toMatchObject({
    status: 429,
    body: { error: { code: -32005, message: expect.stringMatching(/^Too many RPC requests at once/) } },
  })
  expect((await post(await urlOf(calm.id), balance)).status).toBe(200)
  await until(
    () => post(url, batch),
    (o) => o.status === 200,
  )
})
