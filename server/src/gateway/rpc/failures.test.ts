import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../modules/rpc/tokens.ts'
import { rpcUpstreamStates } from '../../modules/chains/tables.ts'
import { untilValue } from '../../testing/until.ts'
import { call, post, startFaultyNode, startRpcTestbed, type FaultyNode, type RpcTestbed } from './testbed.ts'

let devnet: Devnet
beforeAll(async () => {
  devnet = await startDevnet({ transfers: 40 })
  await mineBlocks(80)
})
afterAll(() => devnet?.stop())

const callNode = async (method: string, params: unknown[] = []) =>
  (await post(devnet.rpcUrl, call(method, params))).body.result
const mineBlocks = (blocks: number) => callNode('anvil_mine', [`0x${blocks.toString(16)}`])
const hex = (n: number) => `0x${n.toString(16)}`

type Pair = {
  a: FaultyNode
  b: FaultyNode
  t: RpcTestbed
  url: string
  send: (method: string, params?: unknown[]) => ReturnType<typeof post>
}

/** Runs a test with a gateway for two nodes of one chain: `a` is preferred, `b` is the fallback. */
async function withPair(run: (pair: Pair) => Promise<void>, upstream: Record<string, unknown> = {}): Promise<void> {
  const [a, b] = await Promise.all([startFaultyNode(devnet.rpcUrl), startFaultyNode(devnet.rpcUrl)])
  const t = await startRpcTestbed(
    {},
    {
      pair: {
        headPollMs: 50,
        upstreams: [
          { name: 'a', url: `${a.url}/v2/secret-key-of-a`, priority: 0, archive: true, ...upstream },
          { name: 'b', url: `${b.url}/v2/secret-key-of-b`, priority: 1, archive: true },
        ],
      },
    },
  )
  try {
    const org = await t.make.org()
    const url = t.gateway.urlOf('pair', await rpcTokenOf(t.app, org.id))
    const send = (method: string, params: unknown[] = []) => post(url, call(method, params, 'call-1'))
    expect((await send('eth_chainId')).body.result).toBe('0x7a69')
    // Waits until both nodes were polled completely: the second poll starts when the first has ended.
    const polls = (n: FaultyNode) => n.calls.filter((c) => c.method === 'eth_blockNumber').length
    await untilValue(async () => [a, b].every((n) => polls(n) > 1), Boolean)
    await run({ a, b, t, url, send })
  } finally {
    await t.close()
    await Promise.all([a.close(), b.close()])
  }
}

const isPoll = (method: string) => ['eth_blockNumber', 'eth_getBlockByNumber', 'eth_chainId'].includes(method)
/** The number of calls after which the gateway knows the usual latency of a node, and hedges calls that take longer. */
const warmupCalls = 16
const heightOf = (response: { body: { result?: unknown } }) => Number(response.body.result)

test('no call fails when a node is killed under load', () =>
  withPair(async ({ a, send, t }) => {
    let calls = 0
    const caller = async () => {
      for (let i = 0; i < 40; i += 1) {
        calls += 1
        if (calls === 150) void a.close()
        const response = await send('eth_getBalance', [devnet.token, hex(i)])
        expect(response).toMatchObject({ status: 200, body: { id: 'call-1', result: '0x0' } })
      }
    }
    await Promise.all(Array.from({ length: 8 }, caller))
    expect(calls).toBe(320)
    const states = await untilValue(
      () => t.app.db.select().from(rpcUpstreamStates),
      // Ignores the state from before the first poll.
      (rows) => rows.some((r) => r.upstream === 'a' && !r.isHealthy && r.reason !== 'It has not responded yet.'),
    )
    expect(states.find((s) => s.upstream === 'a')?.reason).toMatch(
      /^It refuses connections\.|^The connection was interrupted\./,
    )
    expect(states.find((s) => s.upstream === 'b')).toMatchObject({ isHealthy: true, reason: null })
  }))

test('calls to a node that has become slow are hedged', () =>
  withPair(async ({ a, b, send }) => {
    for (let i = 0; i < warmupCalls; i += 1) await send('eth_getBalance', [devnet.token, hex(i)])
    expect(b.calls.filter((c) => c.method === 'eth_getBalance')).toHaveLength(0)
    a.fault = ({ method }) => (isPoll(method) ? null : { delayMs: 15_000 })
    const startedMs = performance.now()
    expect((await send('eth_getBalance', [devnet.token, hex(30)])).body.result).toBe('0x0')
    expect(performance.now() - startedMs).toBeLessThan(10_000)
    expect(b.calls.filter((c) => c.method === 'eth_getBalance')).toHaveLength(1)
  }))

test('batches to a node that has become slow are hedged too', () =>
  withPair(async ({ a, b, url }) => {
    const balanceCalls = (n: FaultyNode) => n.calls.filter((c) => c.method === 'eth_getBalance')
    const batch = (i: number) => [1, 2, 3].map((id) => call('eth_getBalance', [devnet.token, hex(3 * i + id)], id))
    for (let i = 0; i < warmupCalls; i += 1) await post(url, batch(i))
    expect(balanceCalls(b)).toHaveLength(0)
    a.fault = ({ method }) => (isPoll(method) ? null : { delayMs: 10_000 })
    const responses = await post(url, batch(20))
    expect(responses.body).toEqual([1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, result: '0x0' })))
    expect(balanceCalls(b)).toHaveLength(3)
  }))

test('a node that stops responding does not block requests for the head', () =>
  withPair(async ({ a, send }) => {
    a.fault = () => ({ delayMs: 15_000 })
    const startedMs = performance.now()
    expect(heightOf(await send('eth_blockNumber'))).toBe(await devnet.chain.height())
    expect(performance.now() - startedMs).toBeLessThan(10_000)
  }))

test('a head that a node claims but cannot return is not served', () =>
  withPair(async ({ a, send, t }) => {
    a.fault = ({ method, params }) => {
      if (method === 'eth_blockNumber') return { result: hex(100_000) }
      return method === 'eth_getBlockByNumber' && params[0] === 'latest'
        ? { result: { number: hex(100_000), hash: `0x${'ab'.repeat(32)}` } }
        : null
    }
    for (let i = 0; i < 10; i += 1) {
      const actualHeight = await devnet.chain.height()
      expect(heightOf(await send('eth_blockNumber'))).toBeLessThanOrEqual(actualHeight)
      const { result } = (await send('eth_getBlockByNumber', ['latest', false])).body as { result: { number: string } }
      expect(Number(result.number)).toBeLessThanOrEqual(actualHeight)
    }
    const reason = await untilValue(
      async () => (await t.app.db.select().from(rpcUpstreamStates)).find((s) => s.upstream === 'a')?.reason,
      (r) => typeof r === 'string',
    )
    expect(reason).toBe('It claims block 100000 but cannot return it.')
  }))

test('heads never move backwards, regardless of the node that responds', () =>
  withPair(async ({ a, b, send }) => {
    /** The fault of a node that is stuck at a block. */
    const stuckAt =
      (block: number): FaultyNode['fault'] =>
      ({ method, params }) => {
        if (method === 'eth_blockNumber') return { result: hex(block) }
        if (method !== 'eth_getBlockByNumber') return null
        const requested = params[0] === 'latest' ? Infinity : Number(params[0])
        return requested > block ? { result: null } : null
      }
    let last = heightOf(await send('eth_blockNumber'))
    for (let round = 0; round < 12; round += 1) {
      const [lagging, current] = round % 2 === 0 ? [a, b] : [b, a]
      lagging.fault = stuckAt(last)
      current.fault = null
      await mineBlocks(1)
      const height = heightOf(await send('eth_blockNumber'))
      const { result } = (await send('eth_getBlockByNumber', ['latest', false])).body as { result: { number: string } }
      const balance = await send('eth_getBalance', [devnet.token, 'latest'])
      expect(height).toBeGreaterThanOrEqual(last)
      expect(Number(result.number)).toBeGreaterThanOrEqual(height)
      expect(balance.status).toBe(200)
      last = Number(result.number)
    }
    // The only node that is high enough fails. The gateway must return an error rather than an older block.
    a.fault = stuckAt(last - 5)
    b.fault = () => 'down'
    const response = await untilValue(
      () => send('eth_getBlockByNumber', ['latest', false]),
      (o) => o.body.error !== undefined,
    )
    expect(response).toMatchObject({ status: 503, body: { id: 'call-1', error: { code: -32002 } } })
    a.fault = null
    await untilValue(
      () => send('eth_getBlockByNumber', ['latest', false]),
      (o) => o.status === 200,
    )
  }))

test('a reorganization is visible immediately, and final blocks stay cached', () =>
  withPair(async ({ send }) => {
    const head = heightOf(await send('eth_blockNumber'))
    const hashAt = async (n: number) =>
      ((await send('eth_getBlockByNumber', [hex(n), false])).body.result as { hash: string }).hash
    const hashesBefore = await Promise.all([head, head - 1, 5].map(hashAt))
    await devnet.chain.reorg(3)
    const hashesAfter = await Promise.all([head, head - 1, 5].map(hashAt))
    expect(hashesAfter[0]).not.toBe(hashesBefore[0])
    expect(hashesAfter[1]).not.toBe(hashesBefore[1])
    expect(hashesAfter[2]).toBe(hashesBefore[2])
    expect(heightOf(await send('eth_blockNumber'))).toBeGreaterThanOrEqual(head)
  }))

test('a transaction is never sent twice', () =>
  withPair(async ({ a, b, send }) => {
    a.fault = ({ method }) => (method === 'eth_sendRawTransaction' ? 'down' : null)
    const response = await send('eth_sendRawTransaction', ['0x02'])
    expect(response.body.error).toMatchObject({
      code: -32002,
      message: expect.stringMatching(/may have been executed/),
    })
    const sentCalls = [...a.calls, ...b.calls].filter((c) => c.method === 'eth_sendRawTransaction')
    expect(sentCalls).toHaveLength(1)
    // A call that certainly did not reach one node may be sent to the other.
    await a.close()
    expect((await send('eth_sendRawTransaction', ['0x02'])).body.error?.message).not.toMatch(/may have been executed/)
    expect(b.calls.filter((c) => c.method === 'eth_sendRawTransaction')).toHaveLength(1)
  }))

test('calls that one node rejects or cannot execute are sent to the other, alone and in a batch', () =>
  withPair(async ({ a, b, url, send }) => {
    a.fault = ({ method }) =>
      method === 'eth_getCode'
        ? { error: { code: -32005, message: 'daily request count exceeded, request rate limited' } }
        : null
    expect((await send('eth_getCode', [devnet.token, '0x3'])).body.result).toMatch(/^0x60/)
    const batch = await post(url, [
      call('eth_getCode', [devnet.token, '0x4'], 1),
      call('eth_getBalance', [devnet.token, '0x4'], 2),
    ])
    expect(batch.body).toMatchObject([
      { id: 1, result: expect.stringMatching(/^0x60/) },
      { id: 2, result: '0x0' },
    ])
    a.fault = () => 'down'
    const batchWhileDown = await post(url, [
      call('eth_getCode', [devnet.token, '0x5'], 1),
      call('eth_getBalance', [devnet.token, '0x5'], 2),
    ])
    expect(batchWhileDown.body).toMatchObject([
      { id: 1, result: expect.stringMatching(/^0x60/) },
      { id: 2, result: '0x0' },
    ])
    expect(b.calls.some((c) => c.method === 'eth_getBalance')).toBe(true)
  }))

test('a node without batch support receives single calls, and named parameters are forwarded unchanged', () =>
  withPair(async ({ a, url, send }) => {
    a.fault = ({ method, params }) =>
      Array.isArray(params) || method !== 'eth_getBlockByNumber' ? null : { result: { by: 'name' } }
    a.rejectsBatches = true
    const batch = [call('eth_getCode', [devnet.token, '0x4'], 1), call('eth_getBalance', [devnet.token, '0x4'], 2)]
    for (let i = 0; i < 8; i += 1) {
      const responses = await post(
        url,
        batch.map((c) => ({ ...c, params: [devnet.token, hex(i + 3)] })),
      )
      expect(responses.body).toMatchObject([
        { id: 1, result: expect.stringMatching(/^0x60/) },
        { id: 2, result: '0x0' },
      ])
    }
    // A rejected batch does not count as a failure of the node.
    expect(a.calls.filter((c) => c.method === 'eth_getCode').length).toBeGreaterThan(6)
    expect((await post(url, { ...call('eth_getBlockByNumber'), params: { number: '0x1' } })).body.result).toEqual({
      by: 'name',
    })
    expect((await send('eth_getBlockByNumber', ['0x1', false])).body.result).toMatchObject({ number: '0x1' })
  }))

test('a response larger than the buffer is streamed completely, with the id of its caller', () =>
  withPair(async ({ a, url, send }) => {
    const large = Array.from({ length: 90_000 }, (_, i) => ({ n: i, text: `"],}{[\\ ${'0123456789'.repeat(6)}` }))
    a.fault = ({ method }) => (method === 'trace_block' ? { result: large } : null)
    const [single, batch] = await Promise.all([
      send('trace_block', ['latest']),
      post(url, [call('trace_block', ['0x1'], 7)]),
    ])
    expect(single.text.length).toBeGreaterThan(6_000_000)
    expect(single.body).toEqual({ jsonrpc: '2.0', id: 'call-1', result: large })
    expect(batch.body).toEqual([{ jsonrpc: '2.0', id: 7, result: large }])
  }))

test('errors contain neither URLs nor keys of nodes', () =>
  withPair(async ({ a, b, url, send }) => {
    const leakingError = () => ({
      error: {
        code: -32000,
        message: `see ${a.url}/v2/secret-key-of-a or https://nodes.example.com/x`,
        data: { key: 'secret-key-of-a' },
      },
    })
    a.fault = ({ method }) => (method === 'eth_call' ? leakingError() : null)
    const reverted = await send('eth_call', [{ to: devnet.token }, '0x2'])
    expect(reverted.body.error?.code).toBe(-32000)
    await Promise.all([a.close(), b.close()])
    const failedCall = await untilValue(
      () => send('eth_call', [{ to: devnet.token }, '0x3']),
      (o) => o.status === 503,
    )
    const failedBatch = await post(url, [call('eth_call', [{}, '0x3'], 1), call('eth_call', [{}, '0x4'], 2)])
    expect(failedBatch.status).toBe(503)
    for (const { text } of [reverted, failedCall, failedBatch]) {
      expect(text).not.toContain('secret-key')
      expect(text).not.toContain('127.0.0.1')
      expect(text).not.toContain('nodes.example.com')
    }
  }))

test('identical concurrent calls share one response', () =>
  withPair(async ({ a, b, t, send }) => {
    // The gateway sends a slow call to a second node, if there is one.
    await b.close()
    await untilValue(
      () => t.app.db.select().from(rpcUpstreamStates),
      (rows) => rows.some((r) => r.upstream === 'b' && !r.isHealthy && r.reason !== 'It has not responded yet.'),
    )
    // Long enough for all calls to reach the gateway.
    a.fault = ({ method }) => (method === 'eth_getStorageAt' ? { delayMs: 3_000 } : null)
    const responses = await Promise.all(
      Array.from({ length: 25 }, () => send('eth_getStorageAt', [devnet.token, '0x0', 'latest'])),
    )
    expect(new Set(responses.map((o) => o.text)).size).toBe(1)
    expect([...a.calls, ...b.calls].filter((c) => c.method === 'eth_getStorageAt')).toHaveLength(1)
  }))

test('only responses about final blocks are cached, across restarts, but not for another chain at the same address', () =>
  withPair(async ({ a, b, t, send }) => {
    const countCalls = (method: string) => [...a.calls, ...b.calls].filter((c) => c.method === method).length
    const finalRange = { fromBlock: '0x1', toBlock: '0x3', address: devnet.token }
    const head = heightOf(await send('eth_blockNumber'))
    // The first call reaches a node.
    await untilValue(
      () => send('eth_getLogs', [finalRange]).then(() => countCalls('eth_getLogs')),
      (n) => n > 0,
    )
    const first = await send('eth_getLogs', [finalRange])
    const callsBefore = countCalls('eth_getLogs')
    expect((await send('eth_getLogs', [finalRange])).text).toBe(first.text)
    expect(countCalls('eth_getLogs')).toBe(callsBefore)
    const recentRange = { fromBlock: hex(head), toBlock: hex(head) }
    await send('eth_getLogs', [recentRange])
    await send('eth_getLogs', [recentRange])
    expect(countCalls('eth_getLogs')).toBe(callsBefore + 2)

    await t.gateway.restart()
    const repeat = async () => send('eth_getLogs', [finalRange])
    expect((await repeat()).body.result).toEqual(first.body.result)
    expect(countCalls('eth_getLogs')).toBe(callsBefore + 2)

    const otherDevnet = await startDevnet({ transfers: 3 })
    try {
      for (const node of [a, b]) node.target = otherDevnet.rpcUrl
      const genesis = await untilValue(
        () => send('eth_getBlockByNumber', ['0x0', false]),
        (o) => o.status === 200,
      )
      await untilValue(repeat, (o) => JSON.stringify(o.body.result) !== JSON.stringify(first.body.result))
      expect(genesis.status).toBe(200)
      await untilValue(
        () => send('eth_blockNumber'),
        (o) => heightOf(o) < head,
      )
    } finally {
      await otherDevnet.stop()
    }
  }))
