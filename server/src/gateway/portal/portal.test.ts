import { EvmArchive } from '@subsquid/evm-processor/lib/ds-archive/client.js'
import { HttpClient } from '@subsquid/http-client'
import { ArchiveClient } from '@subsquid/util-internal-archive-client'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../scripts/devnet/devnet.ts'
import { portalUsage } from '../../modules/portal/tables.ts'
import { untilValue } from '../../testing/until.ts'
import { startRpcTestbed, type RpcTestbed } from '../rpc/testbed.ts'
import { createPortalRoute, type PortalRoute } from './index.ts'

const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

let devnet: Devnet
let t: RpcTestbed
let route: PortalRoute
let url: string
const cleanups: (() => Promise<unknown>)[] = []

async function serve(portalRoute: PortalRoute): Promise<string> {
  const server = createServer((req, res) => {
    const [, , , id = '', ...rest] = (req.url ?? '').split('/')
    void portalRoute.handle(req, res, id, rest.join('/'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/portal/datasets`
}

beforeAll(async () => {
  devnet = await startDevnet({ transfers: 60 })
  t = await startRpcTestbed({ SHOAL_DEVNET_URL: devnet.rpcUrl })
  route = createPortalRoute(t.app)
  url = `${await serve(route)}/devnet`
})
afterAll(async () => {
  for (const close of cleanups.toReversed()) await close()
  await route?.close()
  await t?.close()
  await devnet?.stop()
})

type Line = {
  header: { number: number; hash: string; parentHash: string; timestamp?: number }
  logs?: Record<string, unknown>[]
  transactions?: Record<string, unknown>[]
}

async function stream(path: string, query: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/${path}`, { method: 'POST', body: JSON.stringify(query), headers })
  const text = await response.text()
  const lines =
    response.status === 200
      ? text
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Line)
      : []
  return { status: response.status, headers: response.headers, lines, text }
}

const get = async (path: string): Promise<unknown> => (await fetch(`${url}/${path}`)).json()
const mineBlocks = (blocks: number) => rpc('anvil_mine', [`0x${blocks.toString(16)}`])
async function rpc(method: string, params: unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(devnet.rpcUrl, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  return ((await response.json()) as { result: unknown }).result
}

test('a dataset reports its metadata and heads', async () => {
  expect(await get('metadata')).toEqual({ dataset: 'devnet', aliases: [], real_time: true, start_block: 0 })
  const head = (await get('head')) as { number: number; hash: string }
  expect(head.number).toBe(await devnet.chain.height())
  expect(await get('finalized-head')).toMatchObject({ number: expect.any(Number), hash: expect.stringMatching(/^0x/) })
  expect((await fetch(`${url}/nonsense`)).status).toBe(404)
  expect((await fetch(url.replace('/devnet', '/nowhere/metadata'))).status).toBe(404)
})

test('a stream contains the matching items, the first and the last block, and the heads of the chain', async () => {
  const height = await devnet.chain.height()
  const { status, headers, lines } = await stream('stream', {
    type: 'evm',
    fromBlock: 0,
    fields: {
      block: { timestamp: true },
      log: { address: true, topics: true, data: true, transactionHash: true },
      transaction: { hash: true, sighash: true, status: true, gasUsed: true },
    },
    logs: [{ address: [devnet.token.toUpperCase().replace('0X', '0x')], topic0: [transferTopic], transaction: true }],
  })
  expect(status).toBe(200)
  expect(headers.get('x-sqd-head-number')).toBe(String(height))
  expect(headers.get('x-sqd-finalized-head-number')).toMatch(/^\d+$/)
  expect([lines[0]?.header.number, lines.at(-1)?.header.number]).toEqual([0, height])
  expect(lines.flatMap((l) => l.logs ?? [])).toHaveLength(await devnet.chain.countTransfers())
  const block = lines.find((l) => (l.logs?.length ?? 0) > 1)
  expect(block?.header.timestamp).toEqual(expect.any(Number))
  expect(block?.logs?.[1]).toEqual({
    logIndex: 1,
    transactionIndex: 1,
    address: devnet.token,
    topics: [transferTopic, expect.any(String), expect.any(String)],
    data: expect.stringMatching(/^0x/),
    transactionHash: expect.stringMatching(/^0x/),
  })
  expect(block?.transactions?.[1]).toEqual({
    transactionIndex: 1,
    hash: expect.stringMatching(/^0x/),
    sighash: '0xa9059cbb',
    status: 1,
    gasUsed: expect.stringMatching(/^0x/),
  })
})

test('a stream is limited to the filters and the range of its query, and unsupported queries are rejected', async () => {
  const unmatched = await stream('stream', { fromBlock: 1, toBlock: 3, logs: [{ address: [] }] })
  expect(unmatched.lines.map((l) => [l.header.number, l.logs])).toEqual([
    [1, undefined],
    [3, undefined],
  ])
  const allBlocks = await stream('stream', { fromBlock: 1, toBlock: 3, includeAllBlocks: true })
  expect(allBlocks.lines.map((l) => l.header.number)).toEqual([1, 2, 3])
  const transfers = await stream('stream', {
    fromBlock: 2,
    toBlock: 2,
    transactions: [{ to: [devnet.token], sighash: ['0xa9059cbb'], logs: true }],
    fields: { transaction: { to: true } },
  })
  expect([transfers.lines[0]?.transactions?.length, transfers.lines[0]?.logs?.length]).toEqual([20, 20])
  for (const query of [
    {},
    { fromBlock: 5, toBlock: 1 },
    { fromBlock: 0, type: 'solana' },
    { fromBlock: 0, traces: [{}] },
    'x',
  ])
    expect(await stream('stream', query)).toMatchObject({
      status: 400,
      text: expect.stringMatching(/query is not valid/),
    })
})

test('a caller at the head waits for the next block, and receives the new branch after a reorganization', async () => {
  const head = (await get('head')) as { number: number; hash: string }
  const waiting = stream('stream', { fromBlock: head.number + 1, parentBlockHash: head.hash, includeAllBlocks: true })
  await mineBlocks(1)
  expect((await waiting).lines[0]?.header).toMatchObject({ number: head.number + 1, parentHash: head.hash })
  expect((await stream('stream', { fromBlock: head.number + 1000 })).status).toBe(204)
  const abandonedHead = (await get('head')) as { number: number; hash: string }
  await devnet.chain.reorg(2)
  const { status, text } = await stream('stream', {
    fromBlock: abandonedHead.number + 1,
    parentBlockHash: abandonedHead.hash,
  })
  const { previousBlocks } = JSON.parse(text) as { previousBlocks: { number: number; hash: string }[] }
  expect(status).toBe(409)
  expect(previousBlocks.at(-1)?.number).toBe(abandonedHead.number)
  expect(previousBlocks.at(-1)?.hash).not.toBe(abandonedHead.hash)
})

test("the SDK's archive client reads a dataset through the protocol of setGateway", async () => {
  await mineBlocks(80)
  const finalized = await untilValue(
    async () => Number(await (await fetch(`${url}/height`)).text()),
    (n) => n > 4,
  )
  const archive = new EvmArchive(new ArchiveClient({ http: new HttpClient(), url }))
  expect(await archive.getFinalizedHeight()).toBe(finalized)
  const fields = {
    block: { timestamp: true, size: true },
    log: { address: true, topics: true, data: true, transactionHash: true },
    transaction: { hash: true, from: true, to: true, nonce: true, gasUsed: true, status: true },
  }
  const request = { fields, logs: [{ address: [devnet.token], topic0: [transferTopic], transaction: true }] }
  const logs = []
  for await (const batch of archive.getFinalizedBlocks([{ range: { from: 0, to: finalized }, request }], true))
    for (const block of batch.blocks) logs.push(...block.logs)
  const expected = (await rpc('eth_getLogs', [
    { fromBlock: '0x0', toBlock: `0x${finalized.toString(16)}`, address: devnet.token },
  ])) as { transactionHash: string }[]
  expect(logs.map((log) => log.transactionHash)).toEqual(expected.map((log) => log.transactionHash))
  expect(logs[0]?.getTransaction().hash).toBe(logs[0]?.transactionHash)
  expect(await archive.getBlockHash(1)).toMatch(/^0x/)
})

test('finalized streams stop at the finalized head; requests are counted with their bytes', async () => {
  const { lines, text } = await stream(
    'finalized-stream',
    { fromBlock: 0, includeAllBlocks: true },
    { 'x-squid-id': 'transfers@v1' },
  )
  expect(lines.at(-1)?.header.number).toBe(Number(await (await fetch(`${url}/height`)).text()))
  const row = await untilValue(
    async () => (await t.app.db.select().from(portalUsage)).find((r) => r.version === 'transfers@v1'),
    (found) => found !== undefined,
  )
  expect(row).toMatchObject({ dataset: 'devnet', requests: 1, bytes: text.length })
})

test('a caller reads from the nodes at most as fast as an organization may call RPC', async () => {
  await mineBlocks(41)
  const slow = await startRpcTestbed({ SHOAL_DEVNET_URL: devnet.rpcUrl, SHOAL_RPC_RATE: '20' })
  cleanups.push(slow.close)
  const slowRoute = createPortalRoute(slow.app)
  cleanups.push(slowRoute.close)
  const base = await serve(slowRoute)
  const startedMs = performance.now()
  const body = JSON.stringify({ fromBlock: 0, toBlock: 40, includeAllBlocks: true })
  const text = await (await fetch(`${base}/devnet/stream`, { method: 'POST', body })).text()
  expect(text.trim().split('\n')).toHaveLength(41)
  // 20 of the more than 41 calls need no waiting.
  expect(performance.now() - startedMs).toBeGreaterThan(1_000)
})

test('datasets of the catalogue are relayed to the configured portal, with backpressure', async () => {
  let writtenBytes = 0
  const total = 200_000_000
  const endless = new Readable({
    read() {
      writtenBytes += 65_536
      this.push(writtenBytes < total ? Buffer.alloc(65_536, 'x') : null)
    },
  })
  const upstream = createServer((req, res) => {
    if (req.url === '/datasets/ethereum-mainnet/stream')
      endless.pipe(res.writeHead(200, { 'x-sqd-head-number': '7', 'set-cookie': 'no' }))
    else res.end('{"number":1,"hash":"0x01"}')
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  cleanups.push(
    () =>
      new Promise((resolve) => {
        upstream.closeAllConnections()
        upstream.close(resolve)
      }),
  )
  const relayTestbed = await startRpcTestbed({
    SHOAL_PORTAL_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
    SHOAL_DEVNET_URL: devnet.rpcUrl,
  })
  cleanups.push(relayTestbed.close)
  const relay = createPortalRoute(relayTestbed.app)
  cleanups.push(relay.close)
  const base = await serve(relay)
  expect(await (await fetch(`${base}/ethereum-mainnet/head`)).json()).toEqual({ number: 1, hash: '0x01' })
  expect(await (await fetch(`${base}/devnet/metadata`)).json()).toMatchObject({ dataset: 'devnet' })
  const response = await fetch(`${base}/ethereum-mainnet/stream`, { method: 'POST', body: '{}' })
  expect([response.headers.get('x-sqd-head-number'), response.headers.get('set-cookie')]).toEqual(['7', null])
  const reader = response.body?.getReader()
  await reader?.read()
  // The client stops reading: the relay must stop once the buffers in between are full.
  const settledBytes = await untilValue(
    async () => {
      const bytesBefore = writtenBytes
      await new Promise((resolve) => setTimeout(resolve, 100))
      return bytesBefore === writtenBytes ? writtenBytes : 0
    },
    (n) => n > 0,
  )
  expect(settledBytes).toBeLessThan(60_000_000)
  await reader?.cancel()
})
