import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../../../../scripts/devnet/devnet.ts'
import { minutes } from '../../../clock.ts'
import { startRpcTestbed, type RpcTestbed } from '../../../gateway/rpc/testbed.ts'
import { until } from '../../../testing/until.ts'
import { rpcTokenOf } from '../../rpc/tokens.ts'
import { createKnownHeads } from './known-heads.ts'
import { insertSquid, sealWorkload, updateSquid } from '../../versions/store.ts'
import { specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { metricsPort } from '../../containers.ts'

let devnet: Devnet
let t: RpcTestbed
beforeAll(async () => {
  devnet = await startDevnet({ transfers: 10 })
  t = await startRpcTestbed({ SHOAL_DEVNET_URL: devnet.rpcUrl })
})
afterAll(async () => {
  await t?.close()
  await devnet?.stop()
})

test('gateways poll the chain that an environment names, even without calls to it', async () => {
  const org = await t.make.org()
  const squid = await insertSquid(t.app.db, { orgId: org.id, name: 'watched', slot: 'v1', processors: ['eth'] })
  const url = t.gateway.urlOf('devnet', await rpcTokenOf(t.app, org.id))
  const workload = workloadOf(squid, [
    { ...specOf('eth', metricsPort, {}), env: { RPC_URL: url } },
    { ...specOf('other', metricsPort, {}), env: {} },
  ])
  await updateSquid(t.app.db, squid.id, { sealedWorkload: sealWorkload(t.app.sealer, squid.id, workload) })
  const heads = createKnownHeads(t.app)
  const readHead = async () => {
    await heads.refresh()
    return heads.headOf({ squidId: squid.id, container: 'eth' })
  }
  const height = () => devnet.chain.height()
  await until(async () =>
    expect(await readHead()).toMatchObject({ chain: 'devnet', head: { headBlock: await height() } }),
  )
  const before = await height()
  await devnet.chain.transfer(1)
  expect(await height()).toBeGreaterThan(before)
  await until(async () => expect((await readHead())?.head?.headBlock).toBe(await height()))
  expect(heads.headOf({ squidId: squid.id, container: 'other' })).toBeNull()

  // Without a gateway the head becomes outdated and is ignored.
  const at = t.clock.now()
  await t.gateway.close()
  t.clock.advance(minutes(1))
  expect((await readHead())?.head?.observedAt.getTime()).toBeLessThanOrEqual(at.getTime())
  await updateSquid(t.app.db, squid.id, { desiredState: 'hibernated' })
  expect(await readHead()).toBeNull()
})
