import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from '../support/day.ts'
import { deploy, ended } from '../support/deploy.ts'
import { printFaults, reportFault } from '../support/fault-report.ts'
import { freezePostgres, postmasterOf } from '../support/postgres.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTimeline, type Timeline } from '../support/timeline.ts'
import { until } from '../support/until.ts'

const squid = 'erc20-transfers@v1'
const frozenMs = 60_000

/** The embedded Postgres fails while a squid indexes and a user uses the console. Everything must recover without an operator. */
describe('Postgres', () => {
  let day: Day

  beforeAll(async () => {
    day = await startDay()
    await day.api.secrets.change({
      params: { code: day.org },
      body: { secrets: [{ action: 'UPDATE', name: 'RPC_URL', value: day.devnet.rpcUrl }] },
    })
    expect(await ended(day, await deploy(day, { slot: 'v1' }))).toMatchObject({ status: 'OK' })
    await untilCounted()
  }, 300_000)

  afterAll(async () => {
    printFaults('console API', 'slowest API response', '`/readyz`', "squid's programs", "squid's data")
    await day?.end()
  })

  const untilCounted = async () => {
    await day.devnet.chain.transfer(5)
    const expected = await day.devnet.chain.countTransfers()
    await until(async () => (await totalTransfers(day.endpointOf(squid)).catch(() => null)) === expected, 'it counts')
  }

  const watch = (): Timeline => {
    const headers = { authorization: `token ${day.token}`, 'content-type': 'application/json' }
    const query = async (query: string, signal: AbortSignal) => {
      const response = await fetch(day.endpointOf(squid), {
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
        String((await fetch(`${day.shoal.url}/api/v1/orgs/${day.org}/squids`, { headers, signal })).status),
      readyz: async (signal) => String((await fetch(`${day.shoal.url}/readyz`, { signal })).status),
      programs: (signal) => query('{ __typename }', signal),
      data: (signal) =>
        query(`{ transfers(limit: 1, where: { block_gt: ${Math.trunc(Math.random() * 1e6)} }) { id } }`, signal),
    })
  }

  test.each([
    {
      fault: 'killed (`kill -9` of the postmaster)',
      inflict: () => void process.kill(postmasterOf(day.shoal.dataDir), 'SIGKILL'),
    },
    {
      fault: 'restarted (`pg_ctl stop -m fast`)',
      inflict: () => void process.kill(postmasterOf(day.shoal.dataDir), 'SIGINT'),
    },
    {
      fault: 'frozen for 60 s (SIGSTOP)',
      inflict: async () => {
        const thaw = freezePostgres(day.shoal.dataDir)
        await pause(frozenMs)
        thaw()
      },
    },
  ])(
    '$fault: recovers, and no data is lost',
    async ({ fault, inflict }) => {
      const timeline = watch()
      await until(() => timeline.latest('data') === '200', 'everything works')
      timeline.mark()
      await inflict()
      await until(
        () => timeline.history('data').includes('→') || timeline.history('api').includes('→'),
        'the fault is visible',
      ).catch(() => undefined)
      await until(
        () => ['api', 'readyz', 'data'].every((probe) => timeline.latest(probe) === '200'),
        'everything works again',
        90_000,
      )
      await untilCounted()
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
      // Users get a response within 3 s, and not an internal error.
      expect(timeline.slowestMs('api')).toBeLessThan(4_000)
      expect(timeline.history('api')).not.toMatch(/500|no response|refused/)
    },
    300_000,
  )
})
