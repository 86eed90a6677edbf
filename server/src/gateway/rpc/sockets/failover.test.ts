import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/index.ts'
import { call, post, startFaultyNode, startTestPlane, until, type FaultyNode, type TestPlane } from '../testbed.ts'
import { connect, type Notification, type WsClient } from './ws-client.ts'

let devnet: Devnet
let nodes: FaultyNode[]
let t: TestPlane
let client: WsClient

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 40 })
})
afterAll(() => devnet?.stop())

/** Two nodes of one chain, the first preferred, and a client of the gateway in front of them. */
beforeEach(async () => {
  nodes = await Promise.all([startFaultyNode(devnet.rpcUrl), startFaultyNode(devnet.rpcUrl)])
  const upstreams = nodes.map(({ url }, priority) => ({ name: `node ${priority}`, url, priority }))
  t = await startTestPlane({}, { pair: { headPollMs: 50, upstreams } })
  const org = await t.make.org()
  client = await connect(t.gateway.urlOf('pair', await rpcTokenOf(t.app, org.id)))
})
afterEach(async () => {
  client?.socket.terminate()
  await t?.close()
  await Promise.all((nodes ?? []).map((node) => node.close().catch(() => undefined)))
})

const direct = async (method: string, params: unknown[] = []) =>
  (await post(devnet.rpcUrl, call(method, params))).body.result
const hex = (n: number) => `0x${n.toString(16)}`
type Log = Notification['result']
const idOf = ({ blockHash, logIndex }: Log) => `${String(blockHash)} ${String(logIndex)}`

/** The logs a client knows after its notifications. A log sent twice, or removed without having been sent, is an error. */
function fold(before: readonly Log[], notified: readonly Log[]): string[] {
  const known = new Set(before.map(idOf))
  for (const log of notified) {
    if (log.removed) expect(known.delete(idOf(log)), `removed without having been sent: ${idOf(log)}`).toBe(true)
    else {
      expect(known.has(idOf(log)), `sent twice: ${idOf(log)}`).toBe(false)
      known.add(idOf(log))
    }
  }
  return [...known].sort()
}

const allLogs = async (): Promise<Log[]> =>
  (await direct('eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest', address: devnet.token }])) as Log[]
const sorted = (logs: readonly Log[]) => logs.map(idOf).sort()

/** Checks that each header has the previous one as its parent, or starts another branch at a known block. */
function expectConnected(heads: readonly Log[]): void {
  const known = new Set([heads[0]?.['hash']])
  for (const head of heads.slice(1)) {
    expect(known.has(head['parentHash'] as string), `a gap before block ${Number(head['number'])}`).toBe(true)
    expect(known.has(head['hash'] as string), `block ${Number(head['number'])} sent twice`).toBe(false)
    known.add(head['hash'])
  }
}

/** Waits until the client was notified of the latest block of the chain. */
async function caughtUp(heads: string): Promise<void> {
  const { hash } = (await direct('eth_getBlockByNumber', ['latest', false])) as { hash: string }
  await until(
    async () => client.of(heads).at(-1)?.['hash'],
    (last) => last === hash,
    15_000,
  )
}

/** A node that hangs: it accepts calls and answers none. */
const frozen = () => ({ delayMs: 20_000 })
const isDown = () => 'down' as const

test('a reorganization removes the logs of the old branch and sends those of the new one', async () => {
  const before = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  await devnet.chain.transfer(30)
  await caughtUp(heads)
  const old = (await allLogs()).slice(-20)
  const sent = client.of(logs).length
  // One block further back than the client was notified of.
  await devnet.chain.reorg(3)
  await devnet.chain.transfer(1)
  await caughtUp(heads)
  const removed = client.of(logs).filter((log) => log.removed)
  expect(removed.map(idOf)).toEqual(expect.arrayContaining(old.map(idOf)))
  // Newest first.
  expect(removed.slice(0, 10).map(idOf)).toEqual(
    client
      .of(logs)
      .slice(sent - 10, sent)
      .map(idOf)
      .toReversed(),
  )
  expect(fold(before, client.of(logs))).toEqual(sorted(await allLogs()))
  expectConnected(client.of(heads).slice(2))
})

test('a subscription continues with another node when its node fails, hangs, lags or returns false data', async () => {
  const [a] = nodes as [FaultyNode, FaultyNode]
  const before = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  const height = await devnet.chain.height()
  const faults: NonNullable<FaultyNode['fault']>[] = [
    isDown,
    frozen,
    // The node is stuck at its head.
    ({ method, params }) =>
      method === 'eth_blockNumber' || (method === 'eth_getBlockByNumber' && params[0] === 'latest')
        ? { result: hex(height) }
        : null,
    // The node returns no logs, or those of another block.
    ({ method }) => (method === 'eth_getLogs' ? { result: [] } : null),
    ({ method }) => (method === 'eth_getLogs' ? { result: [{ ...before[0], address: devnet.token }] } : null),
    ({ method }) => (method === 'eth_getBlockByHash' ? { result: null } : null),
    ({ method }) => (method === 'eth_getBlockByHash' ? { error: { code: -32000, message: 'header not found' } } : null),
  ]
  for (const fault of faults) {
    a.fault = fault
    await devnet.chain.transfer(25)
    await caughtUp(heads)
    a.fault = null
    await devnet.chain.transfer(5)
    await caughtUp(heads)
  }
  expectConnected(client.of(heads))
  expect(fold(before, client.of(logs))).toEqual(sorted(await allLogs()))
  expect(client.of(logs).some((log) => log.removed)).toBe(false)
})

test('after random failures and reorganizations, the state of the client equals the chain', async () => {
  const before = await allLogs()
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: devnet.token })
  const narrow = await client.subscribe('logs', { address: devnet.token, topics: [null, null, null] })
  // A fixed sequence, so that a failure can be reproduced.
  let seed = 20_261_122
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const acts = ['blocks', 'blocks', 'reorg', 'reorg', 'down', 'frozen', 'well', 'both away'] as const
  const done: string[] = []
  for (let i = 0; i < 60; i += 1) {
    const act = acts[random(acts.length)] ?? 'blocks'
    const node = nodes[random(2)] as FaultyNode
    done.push(act)
    if (act === 'blocks') await devnet.chain.transfer(1 + random(45))
    else if (act === 'reorg') {
      await devnet.chain.reorg(1 + random(5))
      if (random(2) === 0) await devnet.chain.transfer(1 + random(5))
    } else if (act === 'down') node.fault = isDown
    else if (act === 'frozen')
      node.fault = ({ method }) => (random(3) === 0 || method === 'eth_getLogs' ? { delayMs: 1_500 } : null)
    else if (act === 'both away') {
      for (const each of nodes) each.fault = isDown
      await devnet.chain.transfer(1 + random(10))
    }
    if (act === 'well' || act === 'both away') for (const each of nodes) each.fault = null
    // Sometimes the gateway observes each change, sometimes only the result of several.
    if (random(3) === 0) for (const each of nodes) each.fault = null
    if (random(3) === 0 && nodes.every((each) => each.fault === null)) await caughtUp(heads)
  }
  for (const each of nodes) each.fault = null
  await devnet.chain.transfer(1)
  await caughtUp(heads)
  expect(client.socket.readyState, done.join()).toBe(1)
  expect(fold(before, client.of(logs)), done.join()).toEqual(sorted(await allLogs()))
  expect(client.of(narrow).map(idOf)).toEqual(client.of(logs).map(idOf))
  expect(client.of(logs).some((log) => log.removed)).toBe(true)
}, 120_000)

test('a chain is polled once for all subscribers, and no longer when they have disconnected', async () => {
  const [a] = nodes as [FaultyNode, FaultyNode]
  const others = await Promise.all([1, 2, 3].map(() => connect(client.socket.url.replace('ws', 'http'))))
  const ids = await Promise.all([client, ...others].flatMap((c) => [c.subscribe('newHeads'), c.subscribe('logs', {})]))
  const asked = (method: string) => nodes.flatMap((node) => node.calls).filter((c) => c.method === method).length
  const before = asked('eth_getBlockByHash') + asked('eth_getLogs')
  await devnet.chain.transfer(1)
  await until(async () => [client, ...others].every((c) => ids.some((id) => c.of(id).length > 0)), Boolean)
  expect(asked('eth_getBlockByHash') + asked('eth_getLogs') - before).toBe(2)
  expect(a.calls.some((c) => c.method === 'eth_subscribe')).toBe(false)
  for (const each of [client, ...others]) each.socket.close()
  await Promise.all([client, ...others].map((each) => each.closed))
  expect(t.gateway.route().socketCounts()).toEqual([])
})

test('a chain reset closes the connections of subscribers, who find the new chain when they reconnect', async () => {
  await client.subscribe('newHeads')
  const other = await startDevnet({ transfers: 3 })
  try {
    for (const node of nodes) node.target = other.rpcUrl
    expect(await client.closed).toMatchObject({ code: 1012, reason: expect.stringMatching(/^The chain was replaced/) })
    const again = await connect(client.socket.url.replace('ws', 'http'))
    const heads = await until(() => again.subscribe('newHeads').catch(() => null), Boolean)
    await other.chain.transfer(1)
    const announced = await until(async () => again.of(heads ?? '').at(-1)?.['number'], Boolean)
    expect(Number(announced)).toBe(await other.chain.height())
    again.socket.close()
  } finally {
    await other.stop()
  }
})
