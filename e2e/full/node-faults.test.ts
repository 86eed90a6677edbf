import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { startFaultyNode, type Fault, type FaultyNode } from '../support/faulty-node.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTimeline, type Timeline } from '../support/timeline.ts'
import { until } from '../support/until.ts'

const squid = 'erc20-transfers@v1'
/** The duration of the faults that callers of the gateway must not notice. */
const hiddenFaultMs = 45_000
/** Within this time after the beginning of a fault, the processor must no longer have the status SYNCED. */
const stalledMs = 60_000

/** A squid reads a chain through Shoal's RPC gateway, while one or both of its two nodes misbehave. */
describe('a fault in RPC nodes', () => {
  let cloud: TestCloud
  let devnet: Devnet
  let nodes: FaultyNode[] = []
  let folder: string
  let rpcUrl: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rpc-'))
    devnet = await startDevnet({ transfers: 25 })
    nodes = [await startFaultyNode(devnet.rpcUrl), await startFaultyNode(devnet.rpcUrl)]
    const upstreams = nodes.map(({ url }, index) => ({ name: `node ${index + 1}`, url }))
    const config = { chains: { devnet: { type: 'evm', title: 'Devnet', chainId: 31337, headPollMs: 500, upstreams } } }
    writeFileSync(join(folder, 'rpc.json'), JSON.stringify(config))
    cloud = await startTestCloud({ env: { SHOAL_RPC_CONFIG: join(folder, 'rpc.json') } })
    const { token } = await cloud.api.rpc.getToken({ params: { code: cloud.org } })
    rpcUrl = `${cloud.shoal.gatewayUrl}/rpc/devnet/${token}`
    await cloud.api.secrets.change({
      params: { code: cloud.org },
      body: {
        secrets: [
          { action: 'UPDATE', name: 'RPC_URL', value: rpcUrl },
          { action: 'UPDATE', name: 'HEAD_POLL_INTERVAL_MS', value: '500' },
        ],
      },
    })
    expect(await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))).toMatchObject({ status: 'OK' })
    await untilIndexed()
  })

  afterAll(async () => {
    printFaults('a call to the gateway', 'slowest call', "the processor's status", 'indexed again after')
    await cloud?.end()
    for (const node of nodes) await node.close()
    await devnet?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const untilIndexed = async () => {
    const expected = await devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(cloud.endpointOf(squid)).catch(() => null)) === expected,
      'the squid has indexed all transfers',
    )
  }

  const watch = (): Timeline =>
    startTimeline({
      call: async (signal) => {
        const response = await fetch(rpcUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }),
          signal,
        })
        const { error } = (await response.json()) as { error?: { code: number } }
        return error ? `error ${error.code}` : 'ok'
      },
      status: async () => {
        const { processors } = await cloud.api.squids.get({ params: { code: cloud.org, reference: squid } })
        return processors?.[0]?.status ?? 'none'
      },
    })

  const setBothNodes = (fault: Fault) => async () => {
    for (const node of nodes) await node.setFault(fault)
  }
  const setFirstNode = (fault: Fault) => async () => await nodes[0]?.setFault(fault)

  const hidden = { isHidden: true, effect: 'calls succeed and the processor stays SYNCED' }
  const visible = { isHidden: false, effect: 'the processor becomes STALLED, and recovers' }
  test.each([
    { fault: 'one of two nodes stopped', begin: setFirstNode('stopped'), ...hidden },
    { fault: 'one of two nodes does not respond', begin: setFirstNode('unresponsive'), ...hidden },
    { fault: 'one of two nodes slow (5 s)', begin: setFirstNode('slow'), ...hidden },
    { fault: 'one of two nodes wrong (reports a head 1,000 blocks too high)', begin: setFirstNode('wrong'), ...hidden },
    { fault: 'both nodes stopped', begin: setBothNodes('stopped'), ...visible },
    { fault: 'neither node responds', begin: setBothNodes('unresponsive'), ...visible },
  ])(
    'with $fault, $effect',
    async ({ fault, begin, isHidden }) => {
      const timeline = watch()
      await until(() => timeline.latest('status') === 'SYNCED', 'the processor is synced')
      timeline.markFault()
      await begin()
      if (isHidden) {
        await devnet.chain.transfer(5)
        await untilIndexed()
      }
      if (isHidden) await pause(hiddenFaultMs)
      else await until(() => timeline.latest('status') !== 'SYNCED', 'the processor is no longer SYNCED', stalledMs)
      const during = { call: timeline.history('call'), status: timeline.history('status') }
      await setBothNodes('none')()
      const repairedMs = performance.now()
      await devnet.chain.transfer(5)
      await untilIndexed()
      const indexedMs = performance.now() - repairedMs
      await until(() => timeline.latest('status') === 'SYNCED', 'the processor is synced again')
      await timeline.stop()
      reportFault(
        fault,
        during.call,
        `${(timeline.slowestMs('call') / 1000).toFixed(1)} s`,
        during.status,
        `${(indexedMs / 1000).toFixed(1)} s`,
      )
      if (isHidden) expect(during).toEqual({ call: 'ok', status: 'SYNCED' })
      else expect(during.status).toMatch(/→ STALLED at/)
    },
    240_000,
  )

  test('after a reorganization of four blocks, the squid has the data of the new chain', async () => {
    const timeline = watch()
    await until(() => timeline.latest('status') === 'SYNCED', 'the processor is synced')
    timeline.markFault()
    const before = await devnet.chain.countTransfers()
    const startedMs = performance.now()
    await devnet.chain.reorg(4)
    await devnet.chain.transfer(1)
    expect(await devnet.chain.countTransfers()).not.toBe(before)
    await untilIndexed()
    const elapsed = `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    await timeline.stop()
    const { history, slowestMs } = timeline
    reportFault(
      'chain reorganized by four blocks',
      history('call'),
      `${(slowestMs('call') / 1000).toFixed(1)} s`,
      history('status'),
      elapsed,
    )
    expect(history('call')).toBe('ok')
  })
})
