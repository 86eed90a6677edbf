import { WebSocketProvider } from 'ethers'
import { createPublicClient, parseAbiItem, webSocket } from 'viem'
import { foundry } from 'viem/chains'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../../modules/rpc/tokens.ts'
import { untilValue } from '../../../testing/until.ts'
import { call, post, startRpcTestbed, type RpcTestbed } from '../testbed.ts'
import { connectWebSocket } from './ws-client.ts'

let devnet: Devnet
let t: RpcTestbed
let url: string
let wsUrl: string

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 30 })
  t = await startRpcTestbed({}, { devnet: { chainId: 31337, headPollMs: 50, upstreams: [{ url: devnet.rpcUrl }] } })
  const org = await t.make.org()
  url = t.gateway.urlOf('devnet', await rpcTokenOf(t.app, org.id))
  wsUrl = url.replace('http', 'ws')
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

const transfer = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)')
const callNode = async (method: string, params: unknown[] = []) =>
  (await post(devnet.rpcUrl, call(method, params))).body.result
// viem stops reconnecting after these attempts, so the gateway must restart earlier.
const reconnect = { attempts: 5, delay: 500 }
const viem = () => createPublicClient({ chain: foundry, transport: webSocket(wsUrl, { reconnect }) })
const closeViem = async (client: ReturnType<typeof viem>) => (await client.transport.getRpcClient()).close()

test('viem reads, watches blocks and watches events over WebSocket', async () => {
  const client = viem()
  try {
    expect(await client.getChainId()).toBe(31337)
    const height = await client.getBlockNumber()
    expect(height).toBe(BigInt(await devnet.chain.height()))
    const logs = await client.getLogs({ address: devnet.token as `0x${string}`, fromBlock: 0n, toBlock: height })
    expect(logs).toHaveLength(await devnet.chain.countTransfers())
    const errors: Error[] = []
    const blocks: bigint[] = []
    const hashes: (string | null)[] = []
    const onError = (error: Error) => errors.push(error)
    const unwatch = [
      client.watchBlocks({ onBlock: (block) => blocks.push(block.number), onError }),
      client.watchEvent({
        address: devnet.token as `0x${string}`,
        event: transfer,
        onLogs: (found) => hashes.push(...found.map((log) => log.transactionHash)),
        onError,
      }),
    ]
    // viem does not report when a subscription is established: wait for a block.
    await untilValue(
      async () => {
        await devnet.chain.transfer(1)
        return blocks.length * hashes.length
      },
      (count) => count > 0,
    )
    const [from, countBefore] = [await devnet.chain.height(), hashes.length]
    await devnet.chain.transfer(45)
    const to = await devnet.chain.height()
    await untilValue(
      async () => hashes.length,
      (count) => count >= countBefore + 45,
    )
    // viem requests each announced block, so blocks arrive in the order of those responses.
    const expectedBlocks = Array.from({ length: to - from }, (_, i) => BigInt(from + 1 + i))
    await untilValue(async () => expectedBlocks.every((number) => blocks.includes(number)), Boolean)
    const range = { fromBlock: `0x${(from + 1).toString(16)}`, toBlock: `0x${to.toString(16)}`, address: devnet.token }
    const expected = (await callNode('eth_getLogs', [range])) as { transactionHash: string }[]
    expect(hashes.slice(-45)).toEqual(expected.map((log) => log.transactionHash))
    expect(new Set(blocks).size).toBe(blocks.length)
    expect(errors).toEqual([])
    for (const end of unwatch) end()
  } finally {
    await closeViem(client)
  }
})

test('viem reconnects after a restart of the gateway and continues to watch', async () => {
  const client = viem()
  try {
    const blocks: bigint[] = []
    const unwatch = client.watchBlocks({ onBlock: (block) => blocks.push(block.number), onError: () => undefined })
    const nextBlock = async () => {
      await callNode('evm_mine')
      return Number(blocks.at(-1) ?? -1)
    }
    await untilValue(nextBlock, (last) => last >= 0)
    await t.gateway.restart()
    const height = await devnet.chain.height()
    expect(await untilValue(nextBlock, (last) => last > height)).toBeGreaterThan(height)
    unwatch()
  } finally {
    await closeViem(client)
  }
})

test('ethers reads and subscribes over WebSocket', async () => {
  const provider = new WebSocketProvider(wsUrl)
  try {
    expect((await provider.getNetwork()).chainId).toBe(31337n)
    const blocks: number[] = []
    const logs: { transactionHash: string; removed: boolean }[] = []
    await provider.on('block', (number: number) => blocks.push(number))
    await provider.on({ address: devnet.token }, (log: (typeof logs)[0]) => logs.push(log))
    await untilValue(
      async () => {
        await devnet.chain.transfer(1)
        return blocks.length * logs.length
      },
      (count) => count > 0,
    )
    await devnet.chain.transfer(5)
    const height = await devnet.chain.height()
    await untilValue(
      async () => blocks.at(-1),
      (last) => last === height,
    )
    const range = { fromBlock: `0x${height.toString(16)}`, toBlock: 'latest', address: devnet.token }
    const expected = ((await callNode('eth_getLogs', [range])) as typeof logs).map((log) => log.transactionHash)
    await untilValue(
      async () => logs.at(-1)?.transactionHash,
      (last) => last === expected.at(-1),
    )
    expect(logs.slice(-5).map((log) => log.transactionHash)).toEqual(expected)
    expect(new Set(logs.map((log) => log.transactionHash)).size).toBe(logs.length)
    await provider.removeAllListeners()
    // ethers does not wait for the responses to its unsubscribe calls, so wait for a later response.
    await provider.send('eth_chainId', [])
  } finally {
    await provider.destroy()
  }
})

test('single calls, batches, notifications and invalid requests get the same responses as over HTTP', async () => {
  const client = await connectWebSocket(url)
  const responseTo = async (message: unknown) => {
    const messagesBefore = client.received.length
    client.socket.send(typeof message === 'string' ? message : JSON.stringify(message))
    return untilValue(async () => client.received[messagesBefore], Boolean)
  }
  expect(await responseTo(call('eth_chainId', [], 'abc'))).toEqual({ jsonrpc: '2.0', id: 'abc', result: '0x7a69' })
  expect(
    await responseTo([
      call('eth_chainId', [], 7),
      { jsonrpc: '2.0', method: 'eth_chainId' },
      call('eth_getBlockByNumber', ['0x1', false], 'b'),
      5,
      call('anvil_reset', [], null),
      call('eth_subscribe', ['newHeads'], 8),
    ]),
  ).toEqual([
    { jsonrpc: '2.0', id: 7, result: '0x7a69' },
    expect.objectContaining({ id: 'b', result: expect.objectContaining({ number: '0x1' }) }),
    { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32601 }) },
    { jsonrpc: '2.0', id: 8, result: expect.stringMatching(/^0x[0-9a-f]{32}$/) },
    { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32600 }) },
  ])
  expect(await responseTo('{"jsonrpc":')).toMatchObject({ id: null, error: { code: -32700 } })
  expect(await responseTo([])).toMatchObject({ id: null, error: { code: -32600 } })
  expect(await client.call('eth_call', [{ to: devnet.token, data: '0xa9059cbb' }])).toMatchObject({
    error: { code: 3 },
  })
  client.socket.close()
})

test('notifications have the format of nodes; unsupported subscriptions are rejected with a reason', async () => {
  const client = await connectWebSocket(url)
  const heads = await client.subscribe('newHeads')
  const logs = await client.subscribe('logs', { address: [devnet.token.toUpperCase().replace('0X', '0x')], topics: [] })
  const fourTopics = await client.subscribe('logs', { topics: [null, null, null, null] })
  await devnet.chain.transfer(2)
  await untilValue(
    async () => client.resultsOf(logs).length + client.resultsOf(heads).length,
    (count) => count === 3,
  )
  const [block] = client.resultsOf(heads)
  const { transactions, uncles, size, ...header } = (await callNode('eth_getBlockByNumber', [
    'latest',
    false,
  ])) as Record<string, unknown>
  expect(header).toMatchObject(block ?? {})
  expect(Object.keys(block ?? {})).toEqual(
    expect.arrayContaining(['number', 'hash', 'parentHash', 'logsBloom', 'timestamp']),
  )
  expect([transactions, uncles, size].every((field) => field !== undefined)).toBe(true)
  expect(block).not.toHaveProperty('transactions')
  expect(client.resultsOf(logs)).toEqual(await callNode('eth_getLogs', [{ blockHash: block?.['hash'] }]))
  expect(client.resultsOf(fourTopics)).toEqual([])

  expect(await client.call('eth_unsubscribe', [logs])).toMatchObject({ result: true })
  expect(await client.call('eth_unsubscribe', [logs])).toMatchObject({ error: { message: 'subscription not found' } })
  await devnet.chain.transfer(1)
  await untilValue(
    async () => client.resultsOf(heads).length,
    (count) => count === 2,
  )
  expect(client.resultsOf(logs)).toHaveLength(2)

  const cases = [
    [['newPendingTransactions'], -32601, /pending transactions differ between nodes/],
    [['syncing'], -32601, /use eth_syncing/],
    [['everything'], -32601, /only newHeads and logs are supported/],
    [[], -32602, /takes a string/],
    [['logs', { address: 'unknown' }], -32602, /address must be/],
    [['logs', { topics: ['0x1'] }], -32602, /topics/],
    [['logs', 5], -32602, /the filter must be an object/],
  ] as const
  for (const [params, code, message] of cases)
    expect(await client.call('eth_subscribe', [...params])).toMatchObject({
      error: { code, message: expect.stringMatching(message) },
    })
  client.socket.close()
})

test('a subscription over HTTP is rejected with a hint to use a WebSocket', async () => {
  expect((await post(url, call('eth_subscribe', ['newHeads']))).body.error?.message).toMatch(/same URL with ws/)
  expect((await connectWebSocket(url)).socket.readyState).toBe(1)
})
