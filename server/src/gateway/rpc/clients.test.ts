import { EvmRpcDataSource } from '@subsquid/evm-processor/lib/ds-rpc/client.js'
import { RpcClient } from '@subsquid/rpc-client'
import { JsonRpcProvider } from 'ethers'
import { createPublicClient, createWalletClient, http, parseEther } from 'viem'
import { foundry } from 'viem/chains'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../scripts/devnet/devnet.ts'
import { rpcTokenOf } from '../../modules/rpc/tokens.ts'
import { untilValue } from '../../testing/until.ts'
import { call, post, startRpcTestbed, type RpcTestbed } from './testbed.ts'

let devnet: Devnet
let t: RpcTestbed
let url: string

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 100 })
  t = await startRpcTestbed({ SHOAL_DEVNET_URL: devnet.rpcUrl })
  const org = await t.make.org()
  url = t.gateway.urlOf('devnet', await rpcTokenOf(t.app, org.id))
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

test('viem reads, writes and waits for receipts', async () => {
  const reader = createPublicClient({ chain: foundry, transport: http(url), pollingInterval: 50 })
  expect(await reader.getChainId()).toBe(31337)
  const height = await reader.getBlockNumber()
  expect(height).toBe(BigInt(await devnet.chain.height()))
  const logs = await reader.getLogs({ address: devnet.token as `0x${string}`, fromBlock: 0n, toBlock: height })
  expect(logs).toHaveLength(await devnet.chain.countTransfers())
  const writer = createWalletClient({ chain: foundry, transport: http(url) })
  const [from] = await writer.getAddresses()
  if (!from) throw new Error('The devnet has no accounts')
  const hash = await writer
    .sendTransaction({ account: from, to: devnet.token as `0x${string}`, value: 0n, gas: 21_000n, data: '0x' })
    .catch(() => null)
  // The token contract may reject the call. Then the node's error is forwarded unchanged.
  expect(hash === null || hash.startsWith('0x')).toBe(true)
  const paymentHash = await writer.sendTransaction({ account: from, to: from, value: parseEther('1') })
  await devnet.chain.transfer(1)
  const receipt = await reader.waitForTransactionReceipt({ hash: paymentHash, timeout: 60_000 })
  expect(receipt.status).toBe('success')
  // viem reuses an earlier response for the polling interval otherwise.
  expect(await reader.getBlockNumber({ cacheTime: 0 })).toBeGreaterThanOrEqual(receipt.blockNumber)
})

test('viem sends batches and receives a revert with its data', async () => {
  const reader = createPublicClient({ chain: foundry, transport: http(url, { batch: { batchSize: 50 } }) })
  const blocks = await Promise.all([1n, 2n, 3n, 4n].map((blockNumber) => reader.getBlock({ blockNumber })))
  expect(blocks.map((b) => b.number)).toEqual([1n, 2n, 3n, 4n])
  // transfer(address,uint256) from an account without tokens.
  const data = `0xa9059cbb${'1'.padStart(64, '0')}${'1'.padStart(64, '0')}` as const
  const sender = '0x00000000000000000000000000000000000000aa'
  await expect(reader.call({ account: sender, to: devnet.token as `0x${string}`, data })).rejects.toThrow(
    /transfer amount exceeds balance/,
  )
})

test('ethers reads, and its event subscriptions fall back to polling', async () => {
  const provider = new JsonRpcProvider(url, undefined, { pollingInterval: 50 })
  try {
    expect((await provider.getNetwork()).chainId).toBe(31337n)
    const block = await provider.getBlock('latest')
    expect(block?.number).toBe(await devnet.chain.height())
    const hashes: string[] = []
    await provider.on({ address: devnet.token }, (log: { transactionHash: string }) => hashes.push(log.transactionHash))
    // ethers does not report when it has fallen back to polling, which then starts at the current block.
    await untilValue(
      async () => {
        await devnet.chain.transfer(1)
        return hashes.length
      },
      (count) => count > 0,
    )
  } finally {
    provider.destroy()
  }
})

test("the SDK's data source indexes the chain through the gateway, including receipts", async () => {
  const rpc = new RpcClient({ url, capacity: 5, maxBatchCallSize: 20, retryAttempts: 0 })
  try {
    const source = new EvmRpcDataSource({ rpc, finalityConfirmation: 2 })
    const to = await source.getFinalizedHeight()
    const fields = { log: { transactionHash: true }, transaction: { hash: true, status: true, gasUsed: true } }
    const request = { fields, logs: [{ address: [devnet.token], transaction: true }] }
    const logs = []
    for await (const batch of source.getFinalizedBlocks([{ range: { from: 0, to }, request }], true))
      for (const block of batch.blocks) logs.push(...block.logs)
    const filter = { fromBlock: '0x0', toBlock: `0x${to.toString(16)}`, address: devnet.token }
    const expected = (await post(devnet.rpcUrl, call('eth_getLogs', [filter]))).body.result as {
      transactionHash: string
    }[]
    expect(logs.map((log) => log.transactionHash)).toEqual(expected.map((log) => log.transactionHash))
    expect(logs.every((log) => log.getTransaction().status === 1)).toBe(true)
  } finally {
    rpc.close()
  }
})

test('the response to a call has its id; a notification has no response', async () => {
  expect(await post(url, call('eth_chainId', [], 'abc'))).toMatchObject({
    status: 200,
    body: { jsonrpc: '2.0', id: 'abc', result: '0x7a69' },
  })
  expect((await post(url, { jsonrpc: '2.0', method: 'eth_chainId' })).status).toBe(204)
})

test('a batch has one response for each call with an id, and one for each invalid entry', async () => {
  const batch = await post(url, [
    call('eth_chainId', [], 7),
    { jsonrpc: '2.0', method: 'eth_chainId' },
    call('eth_getBlockByNumber', ['0x1', false], 'b'),
    5,
    call('anvil_reset', [], null),
    call('eth_nonsense', [], 9),
  ])
  expect(batch.status).toBe(200)
  expect(batch.body).toEqual([
    { jsonrpc: '2.0', id: 7, result: '0x7a69' },
    expect.objectContaining({ id: 'b', result: expect.objectContaining({ number: '0x1' }) }),
    { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32601 }) },
    { jsonrpc: '2.0', id: 9, error: expect.objectContaining({ code: expect.any(Number) }) },
    { jsonrpc: '2.0', id: null, error: expect.objectContaining({ code: -32600 }) },
  ])
})

test('invalid, forbidden and oversized requests are rejected with the error codes of JSON-RPC', async () => {
  expect(await post(url, '{"jsonrpc":')).toMatchObject({ status: 400, body: { id: null, error: { code: -32700 } } })
  expect(await post(url, [])).toMatchObject({ status: 400, body: { id: null, error: { code: -32600 } } })
  expect(await post(url, call('eth_newFilter', [{}]))).toMatchObject({ body: { id: 1, error: { code: -32601 } } })
  const tooManyCalls = Array.from({ length: 1001 }, (_, id) => call('eth_chainId', [], id))
  expect(await post(url, tooManyCalls)).toMatchObject({ status: 413, body: { error: { code: -32005 } } })
  expect(await post(url, ' '.repeat(5_000_001))).toMatchObject({ status: 413 })
})

test('only POST is accepted, from every origin', async () => {
  expect((await fetch(url)).status).toBe(405)
  const preflight = await fetch(url, { method: 'OPTIONS' })
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
})

test('a large response is forwarded completely, with the id of its caller', async () => {
  const options = { chain: foundry, transport: http(url, { timeout: 60_000 }) }
  expect(await createPublicClient(options).getChainId()).toBe(31337)
  const range = { fromBlock: '0x0', toBlock: 'latest', address: devnet.token }
  const expected = await post(devnet.rpcUrl, call('eth_getLogs', [range], 1))
  const batch = Array.from({ length: 100 }, (_, id) => call('eth_getLogs', [range], `n${id}`))
  const responses = await post(url, batch)
  expect(responses.body).toEqual(batch.map(({ id }) => ({ jsonrpc: '2.0', id, result: expected.body.result })))
})

test('short and long responses of a batch keep their order and ids', async () => {
  const range = { fromBlock: '0x0', toBlock: 'latest', address: devnet.token }
  const { result } = (await post(devnet.rpcUrl, call('eth_getLogs', [range]))).body
  expect(JSON.stringify(result).length).toBeGreaterThan(4_096)
  const batch = Array.from({ length: 900 }, (_, i) => {
    const id = `${i} ${'größer 大'.repeat(20)}`
    return i % 250 === 100 ? call('eth_getLogs', [range], id) : call('eth_chainId', [], id)
  })
  const responses = await post(url, batch)
  const expected = batch.map(({ id, method }) => ({
    jsonrpc: '2.0',
    id,
    result: method === 'eth_chainId' ? '0x7a69' : result,
  }))
  expect(responses.body).toEqual(expected)
})
