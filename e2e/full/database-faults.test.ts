import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { freezePostgres, postmasterOf } from '../support/postgres.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTimeline, type Timeline } from '../support/timeline.ts'
import { until } from '../support/until.ts'

const squid = 'erc20-transfers@v1'
const frozenMs = 60_000
/** Both clusters fail at the same time, as on a host that is out of memory or whose disk hangs. */
const clusters = ['postgres', 'postgres-squids'] as const

/** The embedded Postgres fails while a squid indexes and a user uses the console. Everything must recover without an operator. */
describe('a Postgres fault', () => {
  let cloud: TestCloud

  beforeAll(async () => {
    cloud = await startTestCloud()
    await cloud.setRpcUrl()
    expect(await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))).toMatchObject({ status: 'OK' })
    await untilIndexed()
  })

  afterAll(async () => {
    printFaults('console API', 'slowest API response', '`/readyz`', "squid's api: no database", "squid's api: rows")
    await cloud?.end()
  })

  const untilIndexed = async () => {
    await cloud.devnet.chain.transfer(5)
    const expected = await cloud.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(cloud.endpointOf(squid)).catch(() => null)) === expected,
      'the squid has indexed all transfers',
    )
  }

  const watch = (): Timeline => {
    const headers = { authorization: `token ${cloud.token}`, 'content-type': 'application/json' }
    const postQuery = async (query: string, signal: AbortSignal) => {
      const response = await fetch(cloud.endpointOf(squid), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
        signal,
      })
      const { errors } = (await response.json().catch(() => ({}))) as { errors?: unknown }
      return errors ? `${response.status} with an error` : String(response.status)
    }
    return startTimeline({
      api: async (signal) =>
        String((await fetch(`${cloud.shoal.url}/api/v1/orgs/${cloud.org}/squids`, { headers, signal })).status),
      readyz: async (signal) => String((await fetch(`${cloud.shoal.url}/readyz`, { signal })).status),
      programs: (signal) => postQuery('{ __typename }', signal),
      // A random block makes each query different, so that no cache can have its result.
      data: (signal) =>
        postQuery(`{ transfers(limit: 1, where: { block_gt: ${Math.trunc(Math.random() * 1e6)} }) { id } }`, signal),
    })
  }

  const signalClusters = (signal: 'SIGKILL' | 'SIGINT'): Promise<void> => {
    for (const cluster of clusters) process.kill(postmasterOf(cloud.shoal.dataDir, cluster), signal)
    return Promise.resolve()
  }

  test.each([
    {
      fault: 'killed (`kill -9` of the postmaster)',
      inflict: () => signalClusters('SIGKILL'),
    },
    {
      fault: 'restarted (`pg_ctl stop -m fast`)',
      inflict: () => signalClusters('SIGINT'),
    },
    {
      fault: 'frozen for 60 s (SIGSTOP)',
      inflict: async () => {
        const thaws = clusters.map((cluster) => freezePostgres(cloud.shoal.dataDir, cluster))
        await pause(frozenMs)
        thaws.forEach((thaw) => thaw())
      },
    },
  ])(
    '$fault: Shoal recovers, and no data is lost',
    async ({ fault, inflict }) => {
      const timeline = watch()
      await until(() => timeline.latest('data') === '200', 'the squid returns data')
      timeline.markFault()
      await inflict()
      // The probes can miss a short fault, so the test continues without a visible effect.
      await until(
        () => timeline.history('data').includes('→') || timeline.history('api').includes('→'),
        'the fault is visible',
      ).catch(() => undefined)
      await until(
        () => ['api', 'readyz', 'data'].every((probe) => timeline.latest(probe) === '200'),
        'the API and the squid respond and the server is ready',
        90_000,
      )
      await untilIndexed()
      await timeline.stop()
      reportFault(
        fault,
        timeline.history('api'),
        `${(timeline.slowestMs('api') / 1000).toFixed(1)} s`,
        timeline.history('readyz'),
        timeline.history('programs'),
        timeline.history('data'),
      )
      expect(timeline.history('programs')).toBe('200')
      // Users get a response within 3 s (plus 1 s of tolerance), and never an internal error.
      expect(timeline.slowestMs('api')).toBeLessThan(4_000)
      expect(timeline.history('api')).toMatch(/^(200|503)( → (200|503) at [\d.]+ s)*$/)
    },
    300_000,
  )
})
