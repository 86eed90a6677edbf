import { afterAll, beforeAll, expect, test } from 'vitest'
import { rpcTokenOf } from '../../modules/rpc/tokens.ts'
import { untilValue } from '../../testing/until.ts'
import { call, post, startFaultyNode, startRpcTestbed, type FaultyNode, type RpcTestbed } from './testbed.ts'

/** A simulated Substrate chain: block n has the hash 0x…n, and the last two blocks are not final. */
let height = 10
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const header = (n: number) => ({ number: `0x${n.toString(16)}`, parentHash: hashOf(n - 1) })

const methods: Record<string, (params: unknown[], height: number) => unknown> = {
  chain_getBlockHash: ([n], height) => (Number(n ?? height) <= height ? hashOf(Number(n ?? height)) : null),
  chain_getHeader: ([hash], height) => header(hash === undefined ? height : Number(hash)),
  chain_getFinalizedHead: (_, height) => hashOf(height - 2),
  state_getStorage: ([key, hash]) => `0x${String(key).length}${String(hash ?? '').length}`,
  author_submitExtrinsic: () => hashOf(1),
}

const simulatedNode =
  (lag: () => number): FaultyNode['fault'] =>
  ({ method, params }) => {
    const respond = methods[method]
    return respond
      ? { result: respond(params, height - lag()) }
      : { error: { code: -32601, message: 'Method not found' } }
  }

let t: RpcTestbed
let a: FaultyNode
let b: FaultyNode
let url: string
let lagOfA = 0

beforeAll(async () => {
  ;[a, b] = await Promise.all([startFaultyNode('http://127.0.0.1:9'), startFaultyNode('http://127.0.0.1:9')])
  a.fault = simulatedNode(() => lagOfA)
  b.fault = simulatedNode(() => 0)
  t = await startRpcTestbed(
    {},
    {
      polkadot: {
        headPollMs: 50,
        upstreams: [
          { name: 'a', url: a.url },
          { name: 'b', url: b.url, priority: 1 },
        ],
      },
    },
  )
  const { id } = await t.make.org()
  url = t.gateway.urlOf('polkadot', await rpcTokenOf(t.app, id))
})
afterAll(async () => {
  await t?.close()
  await Promise.all([a?.close(), b?.close()])
})

const send = async (method: string, params: unknown[] = []) => (await post(url, call(method, params))).body
const countCalls = (method: string) => [...a.calls, ...b.calls].filter((c) => c.method === method).length

test('heads of a Substrate chain never move backwards, regardless of the node that responds', async () => {
  expect((await send('chain_getHeader')).result).toEqual(header(10))
  for (let round = 0; round < 5; round += 1) {
    height += 1
    expect((await send('chain_getHeader')).result).toEqual(header(height))
    // The preferred node falls behind.
    lagOfA = 4
    await untilValue(
      () => send('chain_getHeader'),
      ({ result }) => result !== undefined,
    )
    expect(Number(((await send('chain_getHeader')).result as { number: string }).number)).toBeGreaterThanOrEqual(height)
    expect((await send('chain_getBlockHash', [height])).result).toBe(hashOf(height))
    lagOfA = 0
  }
  const final = Number((await send('chain_getFinalizedHead')).result)
  lagOfA = 6
  expect(Number((await send('chain_getFinalizedHead')).result)).toBeGreaterThanOrEqual(final)
  lagOfA = 0
})

test('calls by hash and hashes of final blocks are cached; writes are sent once', async () => {
  const state = ['0x1234', hashOf(5)]
  const first = await send('state_getStorage', state)
  const callsBefore = countCalls('state_getStorage')
  expect(await send('state_getStorage', state)).toEqual(first)
  expect(countCalls('state_getStorage')).toBe(callsBefore)
  await send('state_getStorage', ['0x1234'])
  await send('state_getStorage', ['0x1234'])
  expect(countCalls('state_getStorage')).toBe(callsBefore + 2)
  a.fault = ({ method }) =>
    method === 'author_submitExtrinsic' ? 'down' : (simulatedNode(() => 0)?.({ id: 1, method, params: [] }) ?? null)
  expect((await send('author_submitExtrinsic', ['0x00'])).error?.message).toMatch(/may have been executed/)
  expect(countCalls('author_submitExtrinsic')).toBe(1)
  expect((await send('author_rotateKeys')).error?.code).toBe(-32601)
  expect((await send('chain_subscribeNewHeads')).error?.message).toMatch(/poll chain_getHeader/)
})
