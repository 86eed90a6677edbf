import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDevnet, type Devnet } from '../../scripts/devnet/devnet.ts'
import { startDay, type Day } from '../support/day.ts'
import { deploy, ended } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { startFaultyNode, type Fault, type FaultyNode } from '../support/faulty-node.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTimeline, type Timeline } from '../support/timeline.ts'
import { until } from '../support/until.ts'

const squid = 'erc20-transfers@v1'
const servedMs = 45_000
/** The status must show an unknown head within this time. */
const stalledMs = 60_000

/** A squid reads a chain through Shoal's RPC gateway, while one or both of its two nodes misbehave. */
describe('RPC nodes', () => {
  let day: Day
  let chain: Devnet
  let nodes: FaultyNode[] = []
  let folder: string
  let rpcUrl: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rpc-'))
    chain = await startDevnet({ transfers: 25 })
    nodes = [await startFaultyNode(chain.rpcUrl), await startFaultyNode(chain.rpcUrl)]
    const upstreams = nodes.map(({ url }, index) => ({ name: `node ${index + 1}`, url }))
    const config = { chains: { devnet: { type: 'evm', title: 'Devnet', chainId: 31337, headPollMs: 500, upstreams } } }
    writeFileSync(join(folder, 'rpc.json'), JSON.stringify(config))
    day = await startDay({ env: { SHOAL_RPC_CONFIG: join(folder, 'rpc.json') } })
    const { token } = await day.api.rpc.getToken({ params: { code: day.org } })
    rpcUrl = `${day.shoal.gatewayUrl}/rpc/devnet/${token}`
    await day.api.secrets.change({
      params: { code: day.org },
      body: {
        secrets: [
          { action: 'UPDATE', name: 'RPC_URL', value: rpcUrl },
          { action: 'UPDATE', name: 'HEAD_POLL_INTERVAL_MS', value: '500' },
        ],
      },
    })
    expect(await ended(day, await deploy(day, { slot: 'v1' }))).toMatchObject({ status: 'OK' })
    await untilCounted()
  }, 300_000)

  afterAll(async () => {
    printFaults('a call to the gateway', 'slowest call', "the processor's status", 'indexed again after')
    await day?.end()
    for (const node of nodes) await node.close()
    await chain?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const untilCounted = async () => {
    const expected = await chain.chain.countTransfers()
    await until(async () => (await totalTransfers(day.endpointOf(squid)).catch(() => null)) === expected, 'it counts')
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
        return error ? `error ${error.code}` : 'right'
      },
      status: async () => {
        const { processors } = await day.api.squids.get({ params: { code: day.org, reference: squid } })
        return processors?.[0]?.status ?? 'none'
      },
    })

  const both = (fault: Fault) => async () => {
    for (const node of nodes) await node.become(fault)
  }
  const setFirstNode = (fault: Fault) => async () => await nodes[0]?.become(fault)

  test.each([
    { fault: 'one of two dead', begin: setFirstNode('dead'), isServed: true },
    { fault: 'one of two silent', begin: setFirstNode('silent'), isServed: true },
    { fault: 'one of two slow (5 s)', begin: setFirstNode('slow'), isServed: true },
    { fault: 'one of two lying (a head 1,000 blocks too high)', begin: setFirstNode('lying'), isServed: true },
    { fault: 'both dead', begin: both('dead'), isServed: false },
    { fault: 'both silent', begin: both('silent'), isServed: false },
  ])(
    '$fault',
    async ({ fault, begin, isServed }) => {
      const timeline = watch()
      await until(() => timeline.latest('status') === 'SYNCED', 'everything works')
      timeline.mark()
      await begin()
      if (isServed) {
        await chain.chain.transfer(5)
        await untilCounted()
      }
      if (isServed) await pause(servedMs)
      else await until(() => timeline.latest('status') !== 'SYNCED', 'users see that the head is unknown', stalledMs)
      const during = { call: timeline.history('call'), status: timeline.history('status') }
      await both('none')()
      const healedMs = performance.now()
      await chain.chain.transfer(5)
      await untilCounted()
      const indexedMs = performance.now() - healedMs
      await until(() => timeline.latest('status') === 'SYNCED', 'it is synced again')
      await timeline.stop()
      reportFault(
        fault,
        during.call,
        `${(timeline.slowestMs('call') / 1000).toFixed(1)} s`,
        during.status,
        `${(indexedMs / 1000).toFixed(1)} s`,
      )
      if (isServed) expect(during).toEqual({ call: 'right', status: 'SYNCED' })
      else expect(during.status).toMatch(/→ STALLED at/)
    },
    240_000,
  )

  test('a reorganisation of four blocks', async () => {
    const timeline = watch()
    await until(() => timeline.latest('status') === 'SYNCED', 'everything works')
    timeline.mark()
    const before = await chain.chain.countTransfers()
    const startedMs = performance.now()
    await chain.chain.reorg(4)
    await chain.chain.transfer(1)
    expect(await chain.chain.countTransfers()).not.toBe(before)
    await untilCounted()
    const elapsed = `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
    await timeline.stop()
    const { history, slowestMs } = timeline
    reportFault(
      'chain reorganised by four blocks',
      history('call'),
      `${(slowestMs('call') / 1000).toFixed(1)} s`,
      history('status'),
      elapsed,
    )
    expect(history('call')).toBe('right')
  }, 120_000)
})
