import { afterAll, beforeAll, expect, test } from 'vitest'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpcTokenOf } from '../../modules/rpc/index.ts'
import { Accounts, overRate } from './accounts.ts'
import { Meter } from './meter.ts'
import { startTestPlane, type TestPlane } from './testbed.ts'

const rate = 100
let t: TestPlane
beforeAll(async () => void (t = await startTestPlane({ SHOAL_RPC_RATE: String(rate) })))
afterAll(() => t.close())

/** Handles a request as a gateway does, without a node. */
function gateway(token: string) {
  const accounts = new Accounts(t.app)
  const meter = new Meter(t.app, (totals, own) => accounts.recordUse(totals, own))
  return {
    ask: async (): Promise<boolean> => {
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

/** Requests per second that these gateways admit under full load, once they know each other's usage. */
async function passed(gateways: ReturnType<typeof gateway>[]): Promise<number> {
  let count = 0
  const settledMs = performance.now() + 3_000
  const endMs = settledMs + 4_000
  while (performance.now() < endMs) {
    for (const one of gateways) while (await one.ask()) if (performance.now() > settledMs) count++
    await sleep(5)
  }
  return count / 4
}

test('the rate of an organization applies across all gateways, and a single gateway may use all of it', async () => {
  const token = await rpcTokenOf(t.app, (await t.make.org()).id)
  const gateways = [gateway(token), gateway(token), gateway(token)]
  const [first] = gateways
  const together = await passed(gateways)
  expect(together).toBeGreaterThan(rate * 0.5)
  expect(together).toBeLessThan(rate * 1.4)
  const alone = await passed(first ? [first] : [])
  expect(alone).toBeGreaterThan(rate * 0.8)
  for (const one of gateways) await one.close()
})
