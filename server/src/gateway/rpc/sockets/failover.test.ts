import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/tokens.ts'
import { untilValue } from '../../../testing/until.ts'
import { call, post, startFaultyNode, startRpcTestbed, type FaultyNode, type RpcTestbed } from '../testbed.ts'
import { connectWebSocket, type Notification, type WsClient } from './ws-client.ts'

let devnet: Devnet
let nodes: FaultyNode[]
let t: RpcTestbed
let client: WsClient

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 40 })
})
afterAll(() => devnet?.stop())

/** Two nodes of one chain, the first preferred, and a client of the gateway in front of them. */
beforeEach(async () => {
  nodes = await Promise.all([startFaultyNode(devnet.rpcUrl), startFaultyNode(devnet.rpcUrl)])
  const upstreams = nodes.map(({ url }, priority) => ({ name: `node ${priority}`, url, priority }))
  t = await startRpcTestbed({}, { pair: { headPollMs: 50, upstreams } })
  const org = await t.make.org()
  client = await connectWebSocket(t.gateway.urlOf('pair', await rpcTokenOf(t.app, org.id)))
})
afterEach(async () => {
  client?.socket.terminate()
  await t?.close()
  await Promise.all((nodes ?? []).map((node) => node.close().catch(() => undefined)))
})

const callNode = async (method: string, params: unknown[] = []) =>
  (await post(devnet.rpcUrl, call(method, params))).body.result
const hex = (n: number) => `0x${n.toString(16)}`
type Log = Notification['result']
const idOf = ({ blockHash, logIndex }: Log) => `${String(blockHash)} ${String(logIndex)}`

/** Applies notifications to logs and returns the ids of the remaining ones. Fails if a log is sent twice, or removed without being sent. */
function applyLogs(logsBefore: readonly Log[], notified: readonly Log[]): string[] {
  const current = new Set(logsBefore.map(idOf))
  for (const log of notified) {
    if (log.removed) expect(current.delete(idOf(log)), `removed without having been sent: ${idOf(log)}`).toBe(true)
    else {
      expect(current.has(idOf(log)), `sent twice: ${idOf(log)}`).toBe(false)
      current.add(idOf(log))
    }
  }
  return [...current].sort()
}

const allLogs = async (): Promise<Log[]> =>
  (await callNode('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest', address: devnet.token }])) as Log[]
const sortedIds = (logs: readonly Log[]) => logs.map(idOf).sort()

/** Checks that the parent of each header was sent before, and that no header is sent twice. */
function expectConnected(heads: readonly Log[]): void {
  const current = new Set([heads[0]?.['hash']])
  for (const head of heads.slice(1)) {
    expect(current.has(head['parentHash'] as string), `a gap before block ${Number(head['number'])}`).toBe(true)
    expect(current.has(head['hash'] as string), `block ${Number(head['number'])} sent twice`).toBe(false)
    current.add(head['hash'])
  }
}

/** Waits until the client has been notified of the latest block of the chain. */
async function waitForTip(heads: string): Promise<void> {
  const { hash } = (await callNode('eth_getBlockByNumber', ['latest', false])) as { hash: string }
  await untilValue(
    async () => client.resultsOf(heads).at(-1)?.['hash'],
    (last) => last === hash,
    15_000,
  )
}

/** The fault of a node that accepts calls but does not respond. */
const hang = () => ({ delayMs: 20_000 })
const breakConnection = () => 'down' as const

test('a reorganization removes the logs of the old branch and sends those of the new one', async () => {
  const logsBefore = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  await devnet.chain.transfer(30)
  await waitForTip(heads)
  const oldLogs = (await allLogs()).slice(-20)
  const sentCount = client.resultsOf(logs).length
  // Replaces one more block than the client was notified of.
  await devnet.chain.reorg(3)
  await devnet.chain.transfer(1)
  await waitForTip(heads)
  const removed = client.resultsOf(logs).filter((log) => log.removed)
  expect(removed.map(idOf)).toEqual(expect.arrayContaining(oldLogs.map(idOf)))
  // Logs are removed newest first.
  expect(removed.slice(0, 10).map(idOf)).toEqual(
    client
      .resultsOf(logs)
      .slice(sentCount - 10, sentCount)
      .map(idOf)
      .toReversed(),
  )
  expect(applyLogs(logsBefore, client.resultsOf(logs))).toEqual(sortedIds(await allLogs()))
  expectConnected(client.resultsOf(heads).slice(2))
})

test('a subscription continues with another node when its node fails, hangs, lags or returns false data', async () => {
  const [a] = nodes as [FaultyNode, FaultyNode]
  const logsBefore = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  const height = await devnet.chain.height()
  const faults: NonNullable<FaultyNode['fault']>[] = [
    breakConnection,
    hang,
    // The node is stuck at its head.
    ({ method, params }) =>
      method === 'eth_blockNumber' || (method === 'eth_getBlockByNumber' && params[0] === 'latest')
        ? { result: hex(height) }
        : null,
    // The node returns no logs, or those of another block.
    ({ method }) => (method === 'eth_getLogs' ? { result: [] } : null),
    ({ method }) => (method === 'eth_getLogs' ? { result: [{ ...logsBefore[0], address: devnet.token }] } : null),
    ({ method }) => (method === 'eth_getBlockByHash' ? { result: null } : null),
    ({ method }) => (method === 'eth_getBlockByHash' ? { error: { code: -32000, message: 'header not found' } } : null),
  ]
  for (const fault of faults) {
    a.fault = fault
    await devnet.chain.transfer(25)
    await waitForTip(heads)
    a.fault = null
    await devnet.chain.transfer(5)
    await waitForTip(heads)
  }
  expectConnected(client.resultsOf(heads))
  expect(applyLogs(logsBefore, client.resultsOf(logs))).toEqual(sortedIds(await allLogs()))
  expect(client.resultsOf(logs).some((log) => log.removed)).toBe(false)
})

test('after random failures and reorganizations, the state of the client equals the chain', async () => {
  const logsBefore = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  const threeTopics = await client.subscribe('logs', { address: devnet.token, topics: [null, null, null] })
  // A fixed sequence, so that a failure can be reproduced.
  let seed = 20_261_122
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const actions = ['blocks', 'blocks', 'reorg', 'reorg', 'down', 'slow', 'recovery', 'both down'] as const
  const performed: string[] = []
  for (let i = 0; i < 60; i += 1) {
    const action = actions[random(actions.length)] ?? 'blocks'
    const node = nodes[random(2)] as FaultyNode
    performed.push(action)
    if (action === 'blocks') await devnet.chain.transfer(1 + random(45))
    else if (action === 'reorg') {
      await devnet.chain.reorg(1 + random(5))
      if (random(2) === 0) await devnet.chain.transfer(1 + random(5))
    } else if (action === 'down') node.fault = breakConnection
    else if (action === 'slow')
      node.fault = ({ method }) => (random(3) === 0 || method === 'eth_getLogs' ? { delayMs: 1_500 } : null)
    else if (action === 'both down') {
      for (const each of nodes) each.fault = breakConnection
      await devnet.chain.transfer(1 + random(10))
    }
    if (action === 'recovery' || action === 'both down') for (const each of nodes) each.fault = null
    // Sometimes the gateway observes each change, sometimes only the result of several.
    if (random(3) === 0) for (const each of nodes) each.fault = null
    if (random(3) === 0 && nodes.every((each) => each.fault === null)) await waitForTip(heads)
  }
  for (const each of nodes) each.fault = null
  await devnet.chain.transfer(1)
  await waitForTip(heads)
  expect(client.socket.readyState, performed.join()).toBe(1)
  expect(applyLogs(logsBefore, client.resultsOf(logs)), performed.join()).toEqual(sortedIds(await allLogs()))
  expect(client.resultsOf(threeTopics).map(idOf)).toEqual(client.resultsOf(logs).map(idOf))
  expect(client.resultsOf(logs).some((log) => log.removed)).toBe(true)
}, 120_000)

test('a chain is polled once for all subscribers, until they have disconnected', async () => {
  const [a] = nodes as [FaultyNode, FaultyNode]
  const others = await Promise.all([1, 2, 3].map(() => connectWebSocket(client.socket.url.replace('ws', 'http'))))
  const ids = await Promise.all([client, ...others].flatMap((c) => [c.subscribe('newHeads'), c.subscribe('logs', {})]))
  const countCalls = (method: string) => nodes.flatMap((node) => node.calls).filter((c) => c.method === method).length
  const callsBefore = countCalls('eth_getBlockByHash') + countCalls('eth_getLogs')
  await devnet.chain.transfer(1)
  await untilValue(async () => [client, ...others].every((c) => ids.some((id) => c.resultsOf(id).length > 0)), Boolean)
  expect(countCalls('eth_getBlockByHash') + countCalls('eth_getLogs') - callsBefore).toBe(2)
  expect(a.calls.some((c) => c.method === 'eth_subscribe')).toBe(false)
  for (const each of [client, ...others]) each.socket.close()
  await Promise.all([client, ...others].map((each) => each.closed))
  expect(t.gateway.route().socketCounts()).toEqual([])
})

test('a chain reset closes the connections of subscribers, who receive the new chain when they reconnect', async () => {
  await client.subscribe('newHeads')
  const otherDevnet = await startDevnet({ transfers: 3 })
  try {
    for (const node of nodes) node.target = otherDevnet.rpcUrl
    expect(await client.closed).toMatchObject({ code: 1012, reason: expect.stringMatching(/^The chain was replaced/) })
    const reconnected = await connectWebSocket(client.socket.url.replace('ws', 'http'))
    const heads = await untilValue(() => reconnected.subscribe('newHeads').catch(() => null), Boolean)
    await otherDevnet.chain.transfer(1)
    const announced = await untilValue(async () => reconnected.resultsOf(heads ?? '').at(-1)?.['number'], Boolean)
    expect(Number(announced)).toBe(await otherDevnet.chain.height())
    reconnected.socket.close()
  } finally {
    await otherDevnet.stop()
  }
})
