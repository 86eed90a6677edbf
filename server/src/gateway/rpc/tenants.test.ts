import { request } from 'node:http'
import { limits, type OrgStatus } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eq } from '../../db/sql.ts'
import { startDevnet, type Devnet } from '../../../../scripts/devnet/devnet.ts'
import { findOrgByCode, quotaUsed } from '../../modules/orgs/index.ts'
import { addRpcUsage } from '../../modules/rpc/index.ts'
import { rpcTokenOf } from '../../modules/rpc/tokens.ts'
import { rpcUpstreamStates } from '../../modules/chains/tables.ts'
import { rpcUsage } from '../../modules/rpc/tables.ts'
import { rpcWatchChannel } from '../../modules/chains/index.ts'
import { notify } from '../../db/notifications.ts'
import { replaceRpcToken } from '../../modules/rpc/tokens.ts'
import { until, untilValue } from '../../testing/until.ts'
import { call, post, startTestGateway, startRpcTestbed, type RpcTestbed } from './testbed.ts'

let devnet: Devnet
let t: RpcTestbed

beforeAll(async () => {
  devnet = await startDevnet()
  t = await startRpcTestbed({ SHOAL_DEVNET_URL: devnet.rpcUrl, SHOAL_RPC_RATE: '50' })
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

const urlOf = async (orgId: number) => t.gateway.urlOf('devnet', await rpcTokenOf(t.app, orgId))
const balance = call('eth_getBalance', ['0x00000000000000000000000000000000000000aa', 'latest'], 'call-1')

test('when a user views a chain, the gateways poll its nodes', async () => {
  expect(await t.app.db.select().from(rpcUpstreamStates)).toEqual([])
  const viewChain = async () => {
    // Every view sends a notification, since notifications are lost until the gateway listens.
    await notify(t.app.db, rpcWatchChannel, 'devnet')
    return await t.app.db.select().from(rpcUpstreamStates)
  }
  const [state] = await untilValue(viewChain, (rows) => rows[0]?.isHealthy === true)
  expect(state).toMatchObject({
    chain: 'devnet',
    upstream: 'devnet',
    headBlock: await devnet.chain.height(),
    reason: null,
  })
})

test('requests are counted by chain, method and version for their organization within a second', async () => {
  const [org, otherOrg] = await Promise.all([t.make.org(), t.make.org()])
  const url = await urlOf(org.id)
  await rpcTokenOf(t.app, otherOrg.id)
  await post(url, call('eth_chainId'), { 'x-squid-id': 'erc20@v1' })
  await post(url, [call('eth_chainId', [], 1), call('eth_chainId', [], 2), call('eth_blockNumber', [], 3)])
  await post(url, call('eth_call', [{ to: devnet.token, data: '0xa9059cbb' }]))
  await post(url, call('anvil_reset'))
  await post(url, '{')
  const rows = await untilValue(
    () => t.app.db.select().from(rpcUsage).where(eq(rpcUsage.orgId, org.id)),
    (found) => found.reduce((sum, r) => sum + r.requests + r.failures, 0) === 6,
    2_500,
  )
  const counts = rows.map((r) => [r.chain, r.method, r.version, r.requests, r.failures].join(' ')).toSorted()
  expect(counts).toEqual([
    'devnet anvil_reset  0 1',
    'devnet eth_blockNumber  1 0',
    'devnet eth_call  1 0',
    'devnet eth_chainId  2 0',
    'devnet eth_chainId erc20@v1 1 0',
  ])
  expect(rows[0]?.hour).toEqual(new Date('2026-01-15T12:00:00Z'))
  expect(await quotaUsed(t.app.db, org.id, 'rpc', t.clock.now())).toBe(5)
  expect(await quotaUsed(t.app.db, otherOrg.id, 'rpc', t.clock.now())).toBe(0)
})

test('a playground that exceeds its monthly quota receives HTTP 429 with the id of the call until the next month', async () => {
  const user = await t.make.user()
  const playground = await findOrgByCode(t.app.db, user.playground.code)
  if (!playground) throw new Error('There is no playground')
  const hour = t.clock.now()
  const requests = limits.playgroundRpcRequests - 3
  await addRpcUsage(t.app.db, [
    { orgId: playground.id, chain: 'eth', method: 'eth_call', version: '', hour, requests, failures: 0 },
  ])
  const url = await urlOf(playground.id)
  expect((await post(url, balance)).status).toBe(200)
  expect((await post(url, [balance, balance, balance])).status).toBe(429)
  expect((await post(url, [balance, balance])).status).toBe(200)
  const rejected = await post(url, balance)
  expect(rejected).toMatchObject({
    status: 429,
    body: {
      jsonrpc: '2.0',
      id: 'call-1',
      error: { code: -32005, message: expect.stringMatching(/500,000 RPC requests/) },
    },
  })
  t.clock.advance(31 * 86_400_000)
  await untilValue(
    () => post(url, balance),
    (o) => o.status === 200,
  )
})

test('calls of organizations with overdue payments are rejected; a single failed charge has no effect', async () => {
  const responseFor = async (status: OrgStatus) => {
    const org = await t.make.org({ status })
    return post(await urlOf(org.id), balance)
  }
  expect((await responseFor('ACTIVE')).status).toBe(200)
  expect((await responseFor('PAYMENT_ISSUES')).status).toBe(200)
  for (const status of ['IN_DEBT', 'TERMINATED'] as const)
    expect(await responseFor(status)).toMatchObject({
      status: 403,
      body: { id: 'call-1', error: { message: expect.stringMatching(/^Payment is overdue/) } },
    })
  expect(await responseFor('DRAFT')).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringMatching(/^Organization is not active/) } },
  })
})

test('all gateways reject a replaced token immediately and accept the new one', async () => {
  const org = await t.make.org()
  const second = await startTestGateway(t.app)
  try {
    const oldToken = await rpcTokenOf(t.app, org.id)
    const urls = [t.gateway.urlOf('devnet', oldToken), second.urlOf('devnet', oldToken)]
    for (const url of urls) expect((await post(url, balance)).status).toBe(200)
    const newToken = await replaceRpcToken(t.app, org.id)
    expect(await rpcTokenOf(t.app, org.id)).toBe(newToken)
    for (const url of urls)
      expect(
        await untilValue(
          () => post(url, balance),
          (o) => o.status === 401,
          500,
        ),
      ).toMatchObject({ body: { id: 'call-1', error: { code: -32001 } } })
    expect((await post(t.gateway.urlOf('devnet', newToken), balance)).status).toBe(200)
  } finally {
    await second.close()
  }
})

test('calls with unknown tokens, to unknown chains and to chains without a node are rejected', async () => {
  const org = await t.make.org()
  const token = await rpcTokenOf(t.app, org.id)
  for (const wrongToken of ['', 'x', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`])
    expect((await post(t.gateway.urlOf('devnet', wrongToken), balance)).status).toBe(401)
  expect((await post(t.gateway.urlOf('nowhere', token), balance)).status).toBe(404)
  expect(await post(t.gateway.urlOf('polkadot', token), call('system_chain', [], 'call-1'))).toMatchObject({
    status: 503,
    body: {
      id: 'call-1',
      error: { code: -32002, message: 'No node is configured for Polkadot. The operator can add one.' },
    },
  })
})

test('an organization cannot exceed its rate, and each call of a batch counts', async () => {
  const [busy, other] = await Promise.all([t.make.org(), t.make.org()])
  const url = await urlOf(busy.id)
  const batch = Array.from({ length: 40 }, (_, id) => call('eth_chainId', [], id))
  const responses = await Promise.all([post(url, batch), post(url, batch)])
  expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 429])
  expect(responses.find(({ status }) => status === 429)).toMatchObject({
    status: 429,
    body: { error: { code: -32005, message: expect.stringMatching(/^Too many RPC requests per second/) } },
  })
  expect((await post(await urlOf(other.id), balance)).status).toBe(200)
  await untilValue(
    () => post(url, batch),
    (o) => o.status === 200,
  )
})

/**
 * Sends a part of a request with a body of `length` bytes, or in chunks, whose length is unknown. Resolves with the status, or 0 when the
 * connection ends.
 */
function beginRequest(url: string, length: number | 'chunked', sentBytes = 1_000) {
  const headers = length === 'chunked' ? { 'transfer-encoding': length } : { 'content-length': length }
  const sent = request(url, { method: 'POST', headers, agent: false })
  sent.on('error', () => {})
  sent.write(' '.repeat(sentBytes))
  const status = new Promise<number>((done) => {
    sent.once('response', (response) => done(response.resume().statusCode ?? 0))
    sent.once('close', () => done(0))
  })
  return { status, end: () => sent.destroy() }
}

test.each([[4_000_000, 1_000] as const, ['chunked', 100_000] as const])(
  'a large body (%s) is not read for an unknown token',
  async (length, sentBytes) => {
    const { status, end } = beginRequest(t.gateway.urlOf('devnet', `rpc_${'0'.repeat(40)}`), length, sentBytes)
    expect(await status).toBe(401)
    end()
  },
)

test('an organization may have many small requests in progress, even of unknown length', async () => {
  const url = await urlOf((await t.make.org()).id)
  const requests = Array.from({ length: 40 }, () => beginRequest(url, 'chunked'))
  expect(await post(url, JSON.stringify(balance).padEnd(4_900_000))).toMatchObject({ status: 200 })
  for (const { end } of requests) end()
})

test('an organization with many large requests gets HTTP 429, and does not prevent those of others', async () => {
  const [flooding, other] = await Promise.all([t.make.org(), t.make.org()])
  const url = await urlOf(flooding.id)
  const flood = Array.from({ length: 40 }, () => beginRequest(url, 5_000_000))
  expect(await Promise.race(flood.map(({ status }) => status))).toBe(429)
  const text = JSON.stringify(balance).padEnd(4_900_000)
  expect(await post(await urlOf(other.id), text)).toMatchObject({ status: 200, body: { id: 'call-1' } })
  for (const { end } of flood) end()
  await until(async () => expect(await post(url, text)).toMatchObject({ status: 200 }))
})
