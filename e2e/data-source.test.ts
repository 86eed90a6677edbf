import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRpcCloud, type RpcCloud } from './support/rpc-cloud.ts'
import { withinPromised } from './support/tier.ts'
import { until } from './support/until.ts'

let cloud: RpcCloud

beforeAll(async () => {
  cloud = await startRpcCloud('dependencies and code')
})

afterAll(() => cloud?.end())

test('when a node hangs, the processor is Stalled and its lag grows within 60 s; afterwards it is synced again', async () => {
  await cloud.deployTo('v1')
  await until(async () => (await cloud.processor('v1'))?.status === 'SYNCED', 'the processor is synced')
  const thaw = cloud.devnet.freeze()
  try {
    const stalled = await until(
      async () => {
        const processor = await cloud.processor('v1')
        return processor?.status === 'STALLED' ? processor : null
      },
      'the processor is stalled',
      withinPromised(60_000),
    )
    expect(stalled.lag?.seconds).toBeGreaterThan(30)
  } finally {
    thaw()
  }
  await until(async () => (await cloud.processor('v1'))?.status === 'SYNCED', 'the processor is synced again')
})
