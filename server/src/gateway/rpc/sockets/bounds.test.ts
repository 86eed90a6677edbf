import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/tokens.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'
import { untilValue } from '../../../testing/until.ts'
import { call, startFaultyNode, startRpcTestbed, type FaultyNode, type RpcTestbed } from '../testbed.ts'
import type { SocketLimits } from './limits.ts'
import { connectWebSocket, type WsClient } from './ws-client.ts'

let devnet: Devnet
let node: FaultyNode

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 40 })
  node = await startFaultyNode(devnet.rpcUrl)
})
afterAll(async () => {
  await node?.close()
  await devnet?.stop()
})

type Testbed = { t: RpcTestbed; urlOfNewOrg: () => Promise<string> }

/** Runs a test with a gateway that has these limits, and closes the gateway and its connections afterwards. */
async function withGateway(
  limits: Partial<SocketLimits>,
  run: (bed: Testbed) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  node.fault = null
  node.calls.length = 0
  const t = await startRpcTestbed(env, { devnet: { headPollMs: 50, upstreams: [{ url: node.url }] } }, limits)
  try {
    await run({
      t,
      urlOfNewOrg: async () => t.gateway.urlOf('devnet', await rpcTokenOf(t.app, (await t.make.org()).id)),
    })
  } finally {
    await t.close()
  }
}

const balance = (id: number) => call('eth_getBalance', [`0x${id.toString(16).padStart(40, '0')}`, 'latest'], id)
const responses = (client: WsClient) => client.received.flat().filter((message) => message.id !== undefined)

test('connections per organization and per gateway are limited, and closed connections free their slots', () =>
  withGateway(
    {},
    async ({ urlOfNewOrg }) => {
      const [url, otherUrl] = await Promise.all([urlOfNewOrg(), urlOfNewOrg()])
      const [first] = await Promise.all([connectWebSocket(url), connectWebSocket(url)])
      await expect(connectWebSocket(url)).rejects.toThrow('HTTP 429')
      await connectWebSocket(otherUrl)
      await expect(connectWebSocket(otherUrl)).rejects.toThrow('HTTP 503')
      first.socket.close()
      await first.closed
      await untilValue(() => connectWebSocket(url).catch(() => null), Boolean)
    },
    { SHOAL_RPC_SOCKETS: '3', SHOAL_RPC_SOCKETS_PER_ORG: '2' },
  ))

test('subscriptions per connection and per organization are limited, and ended subscriptions free their slots', () =>
  withGateway({ subscriptionsPerConnection: 2, subscriptionsPerOrg: 3 }, async ({ urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const [first, second] = [await connectWebSocket(url), await connectWebSocket(url)]
    const id = await first.subscribe('newHeads')
    await first.subscribe('logs', {})
    await expect(first.subscribe('newHeads')).rejects.toThrow(
      'This connection has reached its maximum of 2 subscriptions',
    )
    await second.subscribe('newHeads')
    await expect(second.subscribe('newHeads')).rejects.toThrow(
      'This organization has reached its maximum of 3 subscriptions',
    )
    await first.call('eth_unsubscribe', [id])
    await second.subscribe('newHeads')
    await (await connectWebSocket(await urlOfNewOrg())).subscribe('newHeads')
  }))

test('a message of very many fragments closes its connection', () =>
  withGateway({}, async ({ urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    for (let i = 0; i < 300; i += 1) client.socket.send(' ', { fin: false })
    expect(await client.closed).toMatchObject({ code: 1008 })
  }))

test('a message that is too large closes its connection', () =>
  withGateway({ messageBytes: 10_000 }, async ({ urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    client.socket.send(JSON.stringify(call('eth_chainId', ['x'.repeat(10_000)])))
    expect((await client.closed).code).toBe(1009)
  }))

test('concurrent calls of a connection are limited; all others wait and then get a response', () =>
  withGateway({ callsInFlight: 5 }, async ({ urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    await client.call('eth_chainId')
    let [active, maxActive] = [0, 0]
    node.fault = ({ method }) => {
      if (method !== 'eth_getBalance') return null
      maxActive = Math.max(maxActive, (active += 1))
      setTimeout(() => (active -= 1), 30)
      return { delayMs: 30 }
    }
    for (let id = 0; id < 60; id += 1) client.socket.send(JSON.stringify(balance(id)))
    await untilValue(
      async () => responses(client).length,
      (count) => count === 61,
    )
    expect(maxActive).toBeLessThanOrEqual(5)
    expect(maxActive).toBeGreaterThan(2)
    expect(new Set(responses(client).map(({ id }) => id)).size).toBe(61)
  }))

const highRate = { SHOAL_RPC_RATE: '1000000' }

/** Returns a result of about this many bytes. */
const largeResult = (bytes: number) => ({ result: Array.from({ length: bytes / 100 }, () => 'x'.repeat(97)) })

test('responses to a slow client are buffered up to the limit', () =>
  withGateway({ unsentBytes: 2_000_000, pauseBytes: 100_000, callsInFlight: 50 }, async ({ urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    const large = largeResult(300_000)
    node.fault = ({ method }) => (method === 'eth_getBalance' ? large : null)
    client.socket.pause()
    for (let id = 0; id < 80; id += 1) client.socket.send(JSON.stringify(balance(id)))
    const countCalls = () => node.calls.filter((c) => c.method === 'eth_getBalance').length
    await untilValue(
      async () => countCalls(),
      (count) => count >= 50,
    )
    client.socket.resume()
    await untilValue(
      async () => responses(client).length,
      (count) => count === 80,
    )
    const rejected = responses(client).filter(({ error }) => error)
    expect(responses(client).filter(({ result }) => result).length).toBeGreaterThan(5)
    expect(rejected.length).toBeGreaterThan(0)
    for (const { error } of rejected)
      expect(error).toMatchObject({ code: -32005, message: expect.stringMatching(/use HTTP/) })
    expect(client.socket.readyState).toBe(1)
  }))

test('clients of the organization with the most unread data are disconnected when all together have too much', () =>
  withGateway(
    { totalUnsentBytes: 1_000_000, checkMs: 50, closeMs: 500, pingMs: 600_000 },
    async ({ t, urlOfNewOrg }) => {
      const [slow, other] = [await connectWebSocket(await urlOfNewOrg()), await connectWebSocket(await urlOfNewOrg())]
      const large = largeResult(300_000)
      node.fault = ({ method }) => (method === 'eth_getBalance' ? large : null)
      slow.socket.pause()
      // The kernel buffers some megabytes before the gateway does.
      for (let id = 0; id < 60; id += 1) slow.socket.send(JSON.stringify(balance(id)))
      expect(await other.call('eth_getBalance', ['0x1', 'latest'])).toMatchObject({ result: large.result })
      await untilValue(
        async () => t.gateway.route().socketCounts()[0]?.connections,
        (count) => count === 1,
      )
      slow.socket.resume()
      await slow.closed
      expect(await other.call('eth_getBalance', ['0x2', 'latest'])).toMatchObject({ result: large.result })
    },
    highRate,
  ))

test('a response larger than the buffer becomes an error, alone and in a batch', () =>
  withGateway({ unsentBytes: 5_000_000 }, async ({ urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    node.fault = ({ method }) => (method === 'eth_getBalance' ? largeResult(7_000_000) : null)
    expect(await client.call('eth_getBalance', ['0x1', 'latest'])).toMatchObject({ error: { code: -32005 } })
    client.socket.send(JSON.stringify([balance(1), call('eth_chainId', [], 'c')]))
    const batch = await untilValue(async () => client.received.find(Array.isArray), Boolean)
    expect(batch).toMatchObject([
      { id: 1, error: { code: -32005 } },
      { id: 'c', error: { code: -32005 } },
    ])
  }))

test('a client that does not read its notifications is disconnected with a reason; other clients receive all notifications', () =>
  withGateway(
    { unsentBytes: 100_000, closeMs: 15_000 },
    async ({ t, urlOfNewOrg }) => {
      const [slow, fast] = [await connectWebSocket(await urlOfNewOrg()), await connectWebSocket(await urlOfNewOrg())]
      // The kernel buffers some megabytes before the gateway does.
      await Promise.all(Array.from({ length: 50 }, () => slow.subscribe('logs', {})))
      const logs = await fast.subscribe('logs', {})
      slow.socket.pause()
      let transfers = 0
      const transferMore = async () => {
        await devnet.chain.transfer(100)
        transfers += 100
        await untilValue(
          async () => fast.resultsOf(logs).length,
          (count) => count === transfers,
        )
        return t.gateway.route().socketCounts()[0]?.logs
      }
      await untilValue(transferMore, (open) => open === 1, 60_000)
      slow.socket.resume()
      expect(await slow.closed).toMatchObject({ code: 4408, reason: expect.stringMatching(/not read in time/) })
      await transferMore()
    },
    highRate,
  ))

test('a client that does not respond to pings is disconnected; a client that responds stays connected', () =>
  withGateway({ pingMs: 100 }, async ({ t, urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const [dead, alive] = [await connectWebSocket(url), await connectWebSocket(url)]
    let pings = 0
    alive.socket.on('ping', () => (pings += 1))
    dead.socket.pause()
    await untilValue(
      async () => t.gateway.route().socketCounts()[0]?.connections,
      (count) => count === 1,
    )
    await untilValue(
      async () => pings,
      (count) => count > 5,
    )
    expect(alive.socket.readyState).toBe(1)
    dead.socket.terminate()
  }))

test('calls and notifications are limited by the rate of the organization', () =>
  withGateway(
    { maxRateDebtMs: 1_000, callsInFlight: 1_000 },
    async ({ urlOfNewOrg }) => {
      const [url, otherUrl] = await Promise.all([urlOfNewOrg(), urlOfNewOrg()])
      const [busy, otherClient] = [await connectWebSocket(url), await connectWebSocket(otherUrl)]
      const heads = await otherClient.subscribe('newHeads')
      const batch = JSON.stringify(Array.from({ length: 50 }, (_, id) => balance(id)))
      busy.socket.send(batch)
      busy.socket.send(batch)
      await untilValue(
        async () => busy.received.length,
        (count) => count === 2,
      )
      const rejected = busy.received.flat().filter(({ error }) => error)
      expect(rejected).toHaveLength(50)
      for (const response of rejected)
        expect(response).toMatchObject({ id: expect.any(Number), error: { code: -32005 } })
      const flooded = await connectWebSocket(url)
      await untilValue(() => flooded.subscribe('logs', {}).catch(() => null), Boolean)
      await devnet.chain.transfer(400)
      expect(await flooded.closed).toMatchObject({
        code: 4429,
        reason: expect.stringMatching(/rate limit of the organization/),
      })
      await untilValue(
        async () => otherClient.resultsOf(heads).length,
        (count) => count === 20,
      )
      expect(otherClient.socket.readyState).toBe(1)
    },
    { SHOAL_RPC_RATE: '50' },
  ))

test('when the gateway stops, calls in flight get a response and connections close with a code that makes clients reconnect', () =>
  withGateway({}, async ({ t, urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const client = await connectWebSocket(url)
    await client.subscribe('newHeads')
    node.fault = ({ method }) => (method === 'eth_getBalance' ? { delayMs: 300 } : null)
    client.socket.send(JSON.stringify(balance(7)))
    await untilValue(async () => node.calls.some((c) => c.method === 'eth_getBalance'), Boolean)
    const route = t.gateway.route()
    const closed = route.closeSockets()
    await expect(connectWebSocket(url)).rejects.toThrow('HTTP 503')
    expect(await client.closed).toEqual({ code: 1012, reason: 'The gateway is restarting. Please reconnect.' })
    expect(responses(client).some(({ id }) => id === 7)).toBe(true)
    await closed
    expect(route.socketCounts()).toEqual([])
  }))

test('a client that ignores the closing handshake does not delay shutdown', () =>
  withGateway({ closeMs: 200 }, async ({ t, urlOfNewOrg }) => {
    const client = await connectWebSocket(await urlOfNewOrg())
    client.socket.pause()
    await t.gateway.route().closeSockets()
    expect(t.gateway.route().socketCounts()).toEqual([])
    client.socket.terminate()
  }))

test('the gateway reads slowly from a client that ignores rejections, and serves other clients as before', () =>
  withGateway(
    { callsInFlight: 4 },
    async ({ t, urlOfNewOrg }) => {
      const [busy, other] = [await connectWebSocket(await urlOfNewOrg()), await connectWebSocket(await urlOfNewOrg())]
      await other.call('eth_chainId')
      for (let id = 0; id < 5_000; id += 1) busy.socket.send(JSON.stringify(balance(id)))
      const startedMs = performance.now()
      for (let i = 0; i < 20; i += 1) await other.call('eth_chainId')
      const elapsedMs = performance.now() - startedMs
      const readCount = responses(busy).length
      // In addition to the calls within the rate, rejected calls get responses: four calls per quarter of a second.
      expect(readCount).toBeLessThan(20 + (elapsedMs / 1000) * 20 + (elapsedMs / 250 + 1) * 4 + 20)
      expect(busy.socket.readyState).toBe(1)
      expect(t.gateway.route().socketCounts()).toMatchObject([{ connections: 2 }])
      busy.socket.terminate()
    },
    { SHOAL_RPC_RATE: '20' },
  ))

test('connections, subscriptions and closings are exported as metrics', () =>
  withGateway({}, async ({ t, urlOfNewOrg }) => {
    const [first, second] = [await connectWebSocket(await urlOfNewOrg()), await connectWebSocket(await urlOfNewOrg())]
    await first.subscribe('newHeads')
    await second.subscribe('logs', {})
    await second.subscribe('newHeads')
    const readMetrics = () => metricsRegistry(t.app).metrics()
    expect(await readMetrics()).toMatch(/^shoal_rpc_sockets\{chain="devnet"\} 2$/m)
    expect(await readMetrics()).toMatch(/^shoal_rpc_subscriptions\{chain="devnet",kind="newHeads"\} 2$/m)
    expect(await readMetrics()).toMatch(/^shoal_rpc_subscriptions\{chain="devnet",kind="logs"\} 1$/m)
    first.socket.close(1000)
    await first.closed
    await untilValue(readMetrics, (text) => /^shoal_rpc_sockets\{chain="devnet"\} 1$/m.test(text))
    expect(await readMetrics()).toMatch(/^shoal_rpc_socket_closings_total\{code="1000"\} 1$/m)
    await t.gateway.route().closeSockets()
    expect(await readMetrics()).toMatch(/^shoal_rpc_socket_closings_total\{code="1012"\} 1$/m)
  }))
