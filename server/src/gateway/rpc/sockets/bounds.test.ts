import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/index.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'
import { call, startFaultyNode, startTestPlane, until, type FaultyNode, type TestPlane } from '../testbed.ts'
import type { SocketLimits } from './limits.ts'
import { connect, type WsClient } from './ws-client.ts'

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

type Bed = { t: TestPlane; urlOfNewOrg: () => Promise<string> }

/** A gateway with these limits; its connections are closed with it. */
async function withGateway(
  limits: Partial<SocketLimits>,
  run: (bed: Bed) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  node.fault = null
  node.calls.length = 0
  const t = await startTestPlane(env, { devnet: { headPollMs: 50, upstreams: [{ url: node.url }] } }, limits)
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
      const [mine, other] = await Promise.all([urlOfNewOrg(), urlOfNewOrg()])
      const [first] = await Promise.all([connect(mine), connect(mine)])
      await expect(connect(mine)).rejects.toThrow('HTTP 429')
      await connect(other)
      await expect(connect(other)).rejects.toThrow('HTTP 503')
      first.socket.close()
      await first.closed
      await until(() => connect(mine).catch(() => null), Boolean)
    },
    { SHOAL_RPC_SOCKETS: '3', SHOAL_RPC_SOCKETS_PER_ORG: '2' },
  ))

test('subscriptions per connection and per organization are limited, and ended subscriptions free their slots', () =>
  withGateway({ subscriptionsOfConnection: 2, subscriptionsOfOrg: 3 }, async ({ urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const [one, two] = [await connect(url), await connect(url)]
    const id = await one.subscribe('newHeads')
    await one.subscribe('logs', {})
    await expect(one.subscribe('newHeads')).rejects.toThrow(
      'This connection has reached its maximum of 2 subscriptions',
    )
    await two.subscribe('newHeads')
    await expect(two.subscribe('newHeads')).rejects.toThrow(
      'This organization has reached its maximum of 3 subscriptions',
    )
    await one.call('eth_unsubscribe', [id])
    await two.subscribe('newHeads')
    await (await connect(await urlOfNewOrg())).subscribe('newHeads')
  }))

test('a message that is too large closes its connection', () =>
  withGateway({ messageBytes: 10_000 }, async ({ urlOfNewOrg }) => {
    const client = await connect(await urlOfNewOrg())
    client.socket.send(JSON.stringify(call('eth_chainId', ['x'.repeat(10_000)])))
    expect((await client.closed).code).toBe(1009)
  }))

test('concurrent calls of a connection are limited; the others wait and are all answered', () =>
  withGateway({ callsInFlight: 5 }, async ({ urlOfNewOrg }) => {
    const client = await connect(await urlOfNewOrg())
    await client.call('eth_chainId')
    let [now, most] = [0, 0]
    node.fault = ({ method }) => {
      if (method !== 'eth_getBalance') return null
      most = Math.max(most, (now += 1))
      setTimeout(() => (now -= 1), 30)
      return { delayMs: 30 }
    }
    for (let id = 0; id < 60; id += 1) client.socket.send(JSON.stringify(balance(id)))
    await until(
      async () => responses(client).length,
      (count) => count === 61,
    )
    expect(most).toBeLessThanOrEqual(5)
    expect(most).toBeGreaterThan(2)
    expect(new Set(responses(client).map(({ id }) => id)).size).toBe(61)
  }))

/** A call whose response has about this many bytes. */
const largeAnswer = (bytes: number) => ({ result: Array.from({ length: bytes / 100 }, () => 'x'.repeat(97)) })

test('responses to a slow client are buffered up to the limit', () =>
  withGateway({ unsentBytes: 2_000_000, pauseBytes: 100_000, callsInFlight: 50 }, async ({ urlOfNewOrg }) => {
    const client = await connect(await urlOfNewOrg())
    const large = largeAnswer(300_000)
    node.fault = ({ method }) => (method === 'eth_getBalance' ? large : null)
    client.socket.pause()
    for (let id = 0; id < 80; id += 1) client.socket.send(JSON.stringify(balance(id)))
    const asked = () => node.calls.filter((c) => c.method === 'eth_getBalance').length
    await until(
      async () => asked(),
      (count) => count >= 50,
    )
    client.socket.resume()
    await until(
      async () => responses(client).length,
      (count) => count === 80,
    )
    const refused = responses(client).filter(({ error }) => error)
    expect(responses(client).filter(({ result }) => result).length).toBeGreaterThan(5)
    expect(refused.length).toBeGreaterThan(0)
    for (const { error } of refused)
      expect(error).toMatchObject({ code: -32005, message: expect.stringMatching(/use HTTP/) })
    expect(client.socket.readyState).toBe(1)
  }))

test('a response larger than the buffer becomes an error, alone and in a batch', () =>
  withGateway({ unsentBytes: 5_000_000 }, async ({ urlOfNewOrg }) => {
    const client = await connect(await urlOfNewOrg())
    node.fault = ({ method }) => (method === 'eth_getBalance' ? largeAnswer(7_000_000) : null)
    expect(await client.call('eth_getBalance', ['0x1', 'latest'])).toMatchObject({ error: { code: -32005 } })
    client.socket.send(JSON.stringify([balance(1), call('eth_chainId', [], 'c')]))
    const batch = await until(async () => client.received.find(Array.isArray), Boolean)
    expect(batch).toMatchObject([
      { id: 1, error: { code: -32005 } },
      { id: 'c', error: { code: -32005 } },
    ])
  }))

const many = { SHOAL_RPC_RATE: '1000000' }

test('a client that does not read its notifications is disconnected with a reason; others receive all of theirs', () =>
  withGateway(
    { unsentBytes: 100_000, closeMs: 15_000 },
    async ({ t, urlOfNewOrg }) => {
      const [slow, quick] = [await connect(await urlOfNewOrg()), await connect(await urlOfNewOrg())]
      // The kernel buffers some megabytes before the gateway does.
      await Promise.all(Array.from({ length: 50 }, () => slow.subscribe('logs', {})))
      const logs = await quick.subscribe('logs', {})
      slow.socket.pause()
      let made = 0
      const more = async () => {
        await devnet.chain.transfer(100)
        made += 100
        await until(
          async () => quick.of(logs).length,
          (count) => count === made,
        )
        return t.gateway.route().socketCounts()[0]?.logs
      }
      await until(more, (open) => open === 1, 60_000)
      slow.socket.resume()
      expect(await slow.closed).toMatchObject({ code: 4408, reason: expect.stringMatching(/not read in time/) })
      await more()
    },
    many,
  ))

test('a client that reads nothing and responds to no ping is disconnected; one that responds stays', () =>
  withGateway({ pingMs: 100 }, async ({ t, urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const [dead, alive] = [await connect(url), await connect(url)]
    let pings = 0
    alive.socket.on('ping', () => (pings += 1))
    dead.socket.pause()
    await until(
      async () => t.gateway.route().socketCounts()[0]?.connections,
      (count) => count === 1,
    )
    await until(
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
      const [mine, other] = await Promise.all([urlOfNewOrg(), urlOfNewOrg()])
      const [fast, calm] = [await connect(mine), await connect(other)]
      const heads = await calm.subscribe('newHeads')
      const batch = JSON.stringify(Array.from({ length: 50 }, (_, id) => balance(id)))
      fast.socket.send(batch)
      fast.socket.send(batch)
      await until(
        async () => fast.received.length,
        (count) => count === 2,
      )
      const refused = fast.received.flat().filter(({ error }) => error)
      expect(refused).toHaveLength(50)
      for (const one of refused) expect(one).toMatchObject({ id: expect.any(Number), error: { code: -32005 } })
      const flooded = await connect(mine)
      await until(() => flooded.subscribe('logs', {}).catch(() => null), Boolean)
      await devnet.chain.transfer(400)
      expect(await flooded.closed).toMatchObject({
        code: 4429,
        reason: expect.stringMatching(/rate limit of the organization/),
      })
      await until(
        async () => calm.of(heads).length,
        (count) => count === 20,
      )
      expect(calm.socket.readyState).toBe(1)
    },
    { SHOAL_RPC_RATE: '50' },
  ))

test('when the gateway stops, calls in flight are answered and clients are asked to reconnect', () =>
  withGateway({}, async ({ t, urlOfNewOrg }) => {
    const url = await urlOfNewOrg()
    const client = await connect(url)
    await client.subscribe('newHeads')
    node.fault = ({ method }) => (method === 'eth_getBalance' ? { delayMs: 300 } : null)
    client.socket.send(JSON.stringify(balance(7)))
    await until(async () => node.calls.some((c) => c.method === 'eth_getBalance'), Boolean)
    const route = t.gateway.route()
    const closed = route.closeSockets()
    await expect(connect(url)).rejects.toThrow('HTTP 503')
    expect(await client.closed).toEqual({ code: 1012, reason: 'The gateway is restarting. Please reconnect.' })
    expect(responses(client).some(({ id }) => id === 7)).toBe(true)
    await closed
    expect(route.socketCounts()).toEqual([])
  }))

test('a client that ignores the closing handshake does not delay shutdown', () =>
  withGateway({ closeMs: 200 }, async ({ t, urlOfNewOrg }) => {
    const client = await connect(await urlOfNewOrg())
    client.socket.pause()
    await t.gateway.route().closeSockets()
    expect(t.gateway.route().socketCounts()).toEqual([])
    client.socket.terminate()
  }))

test('a client that ignores refusals is read slowly, and others are answered as before', () =>
  withGateway(
    { callsInFlight: 4 },
    async ({ t, urlOfNewOrg }) => {
      const [flood, calm] = [await connect(await urlOfNewOrg()), await connect(await urlOfNewOrg())]
      await calm.call('eth_chainId')
      for (let id = 0; id < 5_000; id += 1) flood.socket.send(JSON.stringify(balance(id)))
      const startedMs = performance.now()
      for (let i = 0; i < 20; i += 1) await calm.call('eth_chainId')
      const elapsedMs = performance.now() - startedMs
      const read = responses(flood).length
      // In addition to the rate: four slots, each occupied for a quarter of a second.
      expect(read).toBeLessThan(20 + (elapsedMs / 1000) * 20 + (elapsedMs / 250 + 1) * 4 + 20)
      expect(flood.socket.readyState).toBe(1)
      expect(t.gateway.route().socketCounts()).toMatchObject([{ connections: 2 }])
      flood.socket.terminate()
    },
    { SHOAL_RPC_RATE: '20' },
  ))

test('connections, subscriptions and closings are exported as metrics', () =>
  withGateway({}, async ({ t, urlOfNewOrg }) => {
    const [one, two] = [await connect(await urlOfNewOrg()), await connect(await urlOfNewOrg())]
    await one.subscribe('newHeads')
    await two.subscribe('logs', {})
    await two.subscribe('newHeads')
    const readMetrics = () => metricsRegistry(t.app).metrics()
    expect(await readMetrics()).toMatch(/^shoal_rpc_sockets\{chain="devnet"\} 2$/m)
    expect(await readMetrics()).toMatch(/^shoal_rpc_subscriptions\{chain="devnet",kind="newHeads"\} 2$/m)
    expect(await readMetrics()).toMatch(/^shoal_rpc_subscriptions\{chain="devnet",kind="logs"\} 1$/m)
    one.socket.close(1000)
    await one.closed
    await until(readMetrics, (text) => /^shoal_rpc_sockets\{chain="devnet"\} 1$/m.test(text))
    expect(await readMetrics()).toMatch(/^shoal_rpc_socket_closings_total\{code="1000"\} 1$/m)
    await t.gateway.route().closeSockets()
    expect(await readMetrics()).toMatch(/^shoal_rpc_socket_closings_total\{code="1012"\} 1$/m)
  }))
