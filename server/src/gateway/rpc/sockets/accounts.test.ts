import { limits, type OrgStatus } from '@shoal/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { and, eq, ne } from '../../../db/sql.ts'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { findOrgByCode, orgs } from '../../../modules/orgs/index.ts'
import { addRpcUsage } from '../../../modules/rpc/index.ts'
import { rpcTokenOf } from '../../../modules/rpc/tokens.ts'
import { rpcUsage } from '../../../modules/rpc/tables.ts'
import { replaceRpcToken } from '../../../modules/rpc/tokens.ts'
import { untilValue } from '../../../testing/until.ts'
import { startRpcTestbed, type RpcTestbed } from '../testbed.ts'
import { connectWebSocket } from './ws-client.ts'

let devnet: Devnet
let t: RpcTestbed

beforeAll(async () => {
  devnet = await startDevnet()
  t = await startRpcTestbed(
    {},
    {
      devnet: { headPollMs: 50, upstreams: [{ url: devnet.rpcUrl }] },
      unreachable: { upstreams: [{ url: 'http://127.0.0.1:1' }] },
    },
  )
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

const urlOf = async (orgId: number, chain = 'devnet') => t.gateway.urlOf(chain, await rpcTokenOf(t.app, orgId))

test('unknown tokens and chains are rejected before a connection is opened', async () => {
  const org = await t.make.org()
  const url = await urlOf(org.id)
  const wrongUrl = `${url.slice(0, -1)}${url.endsWith('A') ? 'B' : 'A'}`
  await expect(connectWebSocket(wrongUrl)).rejects.toThrow('HTTP 401')
  await expect(connectWebSocket(await urlOf(org.id, 'nowhere'))).rejects.toThrow('HTTP 404')
  for (const status of ['IN_DEBT', 'TERMINATED', 'DRAFT'] as const)
    await expect(connectWebSocket(await urlOf((await t.make.org({ status })).id))).rejects.toThrow('HTTP 403')
  const client = await connectWebSocket(await urlOf(org.id, 'polkadot'))
  expect(await client.call('system_chain')).toMatchObject({
    error: { code: -32002, message: expect.stringMatching(/No node/) },
  })
  expect(await client.call('eth_subscribe', ['newHeads'])).toMatchObject({ error: { code: -32601 } })
  expect(await client.call('chain_subscribeNewHeads')).toMatchObject({
    error: { code: -32601, message: expect.stringMatching(/not offered for this chain; poll chain_getHeader/) },
  })
  client.socket.close()
  const unreachable = await connectWebSocket(await urlOf(org.id, 'unreachable'))
  expect(await unreachable.call('eth_subscribe', ['newHeads'])).toMatchObject({ error: { code: -32002 } })
  unreachable.socket.close()
})

test('replacing a token closes its connections within seconds, and no others', async () => {
  const [org, otherOrg] = await Promise.all([t.make.org(), t.make.org()])
  const [first, second, otherClient] = await Promise.all(
    [urlOf(org.id), urlOf(org.id), urlOf(otherOrg.id)].map(async (u) => connectWebSocket(await u)),
  )
  if (!first || !second || !otherClient) throw new Error('not connected')
  await first.subscribe('newHeads')
  await replaceRpcToken(t.app, org.id)
  for (const client of [first, second])
    expect(await client.closed).toMatchObject({ code: 4401, reason: expect.stringMatching(/^Unknown RPC token/) })
  expect((await otherClient.call('eth_chainId')).result).toBe('0x7a69')
  expect((await (await connectWebSocket(await urlOf(org.id))).call('eth_chainId')).result).toBe('0x7a69')
})

test('the connections of an organization that is deleted or whose payment is overdue are closed within seconds', async () => {
  const closeAfterUpdate = async (values: { status: OrgStatus } | { deletedAt: Date }) => {
    const org = await t.make.org()
    const client = await connectWebSocket(await urlOf(org.id))
    await client.subscribe('newHeads')
    await t.app.db.update(orgs).set(values).where(eq(orgs.id, org.id))
    return client.closed
  }
  const [overdue, deleted] = await Promise.all([
    closeAfterUpdate({ status: 'IN_DEBT' }),
    closeAfterUpdate({ deletedAt: t.clock.now() }),
  ])
  expect(overdue).toEqual({ code: 4403, reason: 'Payment is overdue. Please update your card details.' })
  expect(deleted.code).toBe(4401)
})

test('notifications count as requests of their own method, and reaching the monthly quota closes the connection', async () => {
  const user = await t.make.user()
  const playground = await findOrgByCode(t.app.db, user.playground.code)
  if (!playground) throw new Error('There is no playground')
  // Before the gateway reads the account: it would count requests of another gateway towards the rate.
  const row = { orgId: playground.id, chain: 'eth', method: 'eth_call', version: '', hour: t.clock.now(), failures: 0 }
  await addRpcUsage(t.app.db, [{ ...row, requests: limits.playgroundRpcRequests - 9 }])
  const client = await connectWebSocket(await urlOf(playground.id))
  const [heads, logs] = [await client.subscribe('newHeads'), await client.subscribe('logs', {})]
  await devnet.chain.transfer(3)
  await untilValue(
    async () => client.resultsOf(heads).length + client.resultsOf(logs).length,
    (count) => count === 4,
  )
  const rows = await untilValue(
    () =>
      t.app.db
        .select()
        .from(rpcUsage)
        .where(and(eq(rpcUsage.orgId, playground.id), ne(rpcUsage.method, 'eth_call'))),
    (found) => found.reduce((sum, r) => sum + r.requests, 0) === 6,
  )
  expect(Object.fromEntries(rows.map((r) => [r.method, r.requests]))).toEqual({ eth_subscribe: 2, eth_subscription: 4 })
  await client.call('eth_chainId')
  await devnet.chain.transfer(20)
  expect(await client.closed).toMatchObject({
    code: 4429,
    reason: expect.stringMatching(/^The playground has used its 500,000/),
  })
  expect(client.resultsOf(heads).length + client.resultsOf(logs).length).toBe(4 + 2)
  await expect(connectWebSocket(await urlOf(playground.id))).rejects.toThrow('HTTP 429')
})

test('an organization can neither see nor end subscriptions of another', async () => {
  const [org, otherOrg] = await Promise.all([t.make.org(), t.make.org()])
  const [a, b] = [await connectWebSocket(await urlOf(org.id)), await connectWebSocket(await urlOf(otherOrg.id))]
  const id = await a.subscribe('newHeads')
  expect(await b.call('eth_unsubscribe', [id])).toMatchObject({ error: { message: 'subscription not found' } })
  await devnet.chain.transfer(1)
  await untilValue(
    async () => a.resultsOf(id).length,
    (count) => count === 1,
  )
  expect(b.received.filter((message) => !Array.isArray(message) && message.params)).toEqual([])
  a.socket.close()
  b.socket.close()
})
