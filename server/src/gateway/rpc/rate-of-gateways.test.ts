import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpcTokenOf } from '../../modules/rpc/tokens.ts'
import { RpcAccounts, overRate } from './accounts.ts'
import { Meter } from './meter.ts'
import { startRpcTestbed, type RpcTestbed } from './testbed.ts'

const rate = 100
let t: RpcTestbed
beforeAll(async () => void (t = await startRpcTestbed({ SHOAL_RPC_RATE: String(rate) })))
afterAll(() => t.close())

/** Admits and counts requests as a gateway does, without sending them to a node. */
function startGateway(token: string) {
  const accounts = new RpcAccounts(t.app)
  const meter = new Meter(t.app, (totals, own) => accounts.recordUse(totals, own))
  return {
    sendRequest: async (): Promise<boolean> => {
      const account = await accounts.find(token)
      if (!account || overRate(account, 1)) return false
      meter.count({ orgId: account.orgId, chain: 'eth', method: 'eth_chainId', version: 'test' }, true)
      return true
    },
    close: async () => {
      accounts.close()
      await meter.close()
    },
  }
}

/** Measures how many requests per second these gateways admit under full load, once they know each other's usage. */
async function measureRate(gateways: ReturnType<typeof startGateway>[]): Promise<number> {
  let count = 0
  const measuredFromMs = performance.now() + 3_000
  const endMs = measuredFromMs + 4_000
  while (performance.now() < endMs) {
    for (const gateway of gateways) while (await gateway.sendRequest()) if (performance.now() > measuredFromMs) count++
    await sleep(5)
  }
  return count / 4
}

test('the rate of an organization applies across all gateways, and a single gateway may use all of it', async () => {
  const token = await rpcTokenOf(t.app, (await t.make.org()).id)
  const gateways = [startGateway(token), startGateway(token), startGateway(token)]
  const [first] = gateways
  // Without coordination, three gateways would admit 300 % of the rate. With a fixed share each, a single one would admit 33 %.
  const combinedRate = await measureRate(gateways)
  expect(combinedRate).toBeGreaterThan(rate * 0.5)
  expect(combinedRate).toBeLessThan(rate * 2)
  const singleRate = await measureRate(first ? [first] : [])
  expect(singleRate).toBeGreaterThan(rate * 0.5)
  for (const gateway of gateways) await gateway.close()
})
