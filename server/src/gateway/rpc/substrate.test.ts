import { afterAll, beforeAll, expect, test } from 'vitest'
import { rpcTokenOf } from '../../modules/rpc/index.ts'
import { call, post, startFaultyNode, startTestPlane, until, type FaultyNode, type TestPlane } from './testbed.ts'

/** A simulated Substrate chain: block n has the hash 0x…n, and the last two blocks are not final. */
let height = 10
const hashOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`
const header = (n: number) => ({ number: `0x${n.toString(16)}`, parentHash: hashOf(n - 1) })

const answers: Record<string, (params: unknown[], height: number) => unknown> = {
  chain_getBlockHash: ([n], height) => (Number(n ?? height) <= height ? hashOf(Number(n ?? height)) : null),
  chain_getHeader: ([hash], height) => header(hash === undefined ? height : Number(hash)),
  chain_getFinalizedHead: (_, height) => hashOf(height - 2),
  state_getStorage: ([key, hash]) => `0x${String(key).length}${String(hash ?? '').length}`,
  author_submitExtrinsic: () => hashOf(1),
}

const nodeAt =
  (behind: () => number): FaultyNode['fault'] =>
  ({ method, params }) => {
    const answer = answers[method]
    return answer
      ? { result: answer(params, height - behind()) }
      : { error: { code: -32601, message: 'Method not found' } }
  }

let t: TestPlane
let a: FaultyNode
let b: FaultyNode
let url: string
let aBehind = 0

beforeAll(async () => {
  ;[a, b] = await Promise.all([startFaultyNode('http://127.0.0.1:9'), startFaultyNode('http://127.0.0.1:9')])
  a.fault = nodeAt(() => aBehind)
  b.fault = nodeAt(() => 0)
  t = await startTestPlane(
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

const ask = async (method: string, params: unknown[] = []) => (await post(url, call(method, params))).body
const asked = (method: string) => [...a.calls, ...b.calls].filter((c) => c.method === method).length

test('heads of a Substrate chain never move backwards, whichever node responds', async () => {
  expect((await ask('chain_getHeader')).result).toEqual(header(10))
  for (let round = 0; round < 5; round += 1) {
    height += 1
    expect((await ask('chain_getHeader')).result).toEqual(header(height))
    // The preferred node falls behind.
    aBehind = 4
    await until(
      () => ask('chain_getHeader'),
      ({ result }) => result !== undefined,
    )
    expect(Number(((await ask('chain_getHeader')).result as { number: string }).number)).toBeGreaterThanOrEqual(height)
    expect((await ask('chain_getBlockHash', [height])).result).toBe(hashOf(height))
    aBehind = 0
  }
  const final = Number((await ask('chain_getFinalizedHead')).result)
  aBehind = 6
  expect(Number((await ask('chain_getFinalizedHead')).result)).toBeGreaterThanOrEqual(final)
  aBehind = 0
})

test('calls by hash and hashes of final blocks are cached; writes are sent once', async () => {
  const state = ['0x1234', hashOf(5)]
  const first = await ask('state_getStorage', state)
  const before = asked('state_getStorage')
  expect(await ask('state_getStorage', state)).toEqual(first)
  expect(asked('state_getStorage')).toBe(before)
  await ask('state_getStorage', ['0x1234'])
  await ask('state_getStorage', ['0x1234'])
  expect(asked('state_getStorage')).toBe(before + 2)
  a.fault = ({ method }) =>
    method === 'author_submitExtrinsic' ? 'down' : (nodeAt(() => 0)?.({ id: 1, method, params: [] }) ?? null)
  expect((await ask('author_submitExtrinsic', ['0x00'])).error?.message).toMatch(/may have been executed/)
  expect(asked('author_submitExtrinsic')).toBe(1)
  expect((await ask('author_rotateKeys')).error?.code).toBe(-32601)
  expect((await ask('chain_subscribeNewHeads')).error?.message).toMatch(/poll chain_getHeader/)
})
