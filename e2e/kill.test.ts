import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { connectTo } from './support/postgres.ts'
import { processesIn } from './support/shoal.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** The server is killed with SIGKILL in the middle of things, and loses nothing (design 1). */
describe('kill -9', () => {
  let day: Day
  let expected: number
  let before: string[]

  beforeAll(async () => {
    day = await startDay()
    await day.api.secrets.change({
      params: { code: day.org },
      body: { secrets: [{ action: 'UPDATE', name: 'RPC_URL', value: day.devnet.rpcUrl }] },
    })
    await ended(day, await deploy(day, { slot: 'v1' }))
    expected = await day.devnet.chain.countTransfers()
    await until(async () => (await totalTransfers(day.endpointOf('erc20-transfers@v1'))) === expected, 'it has indexed')
  }, 300_000)

  afterAll(() => day?.end())

  const programs = () => processesIn(join(day.shoal.dataDir, 'images')).toSorted()

  test('running squids go on, with the same processes, and are known again', async () => {
    before = programs()
    expect(before.length).toBeGreaterThan(0)
    await day.shoal.kill()
    await day.shoal.start()
    await until(
      async () => (await totalTransfers(day.endpointOf('erc20-transfers@v1'))) === expected,
      'it answers again',
    )
    expect(programs()).toEqual(before)
  }, 60_000)

  test.each(['UNPACKING', 'IMAGE_BUILDING', 'ADDONS_SYNCING', 'SQUID_SYNCING', 'ADDING_INGRESS'])(
    'during %s the deployment ends all the same',
    async (step) => {
      const slot = `k${step.slice(0, 4).toLowerCase()}`
      const id = await deploy(day, { slot })
      const order = ['UNPACKING', 'IMAGE_BUILDING', 'ADDONS_SYNCING', 'SQUID_SYNCING', 'ADDING_INGRESS', 'OK']
      await until(async () => {
        const { status } = await day.api.deployments.get({ params: { code: day.org, id: String(id) } })
        return order.indexOf(status) >= order.indexOf(step)
      }, `it is at ${step}`)
      await day.shoal.kill()
      await day.shoal.start()
      const deployment = await ended(day, id, 90_000)
      expect(deployment.failed === 'NO' || deployment.failureReason !== null).toBe(true)
      const indexed = async () => (await totalTransfers(day.endpointOf(`erc20-transfers@${slot}`))) === expected
      if (deployment.failed === 'NO') await until(indexed, 'it has indexed')
      await day.api.squids.delete({ params: { code: day.org, reference: `erc20-transfers@${slot}` } })
      await until(
        async () => !(await day.api.squids.list({ params: { code: day.org } })).some((s) => s.slot === slot),
        'it is deleted',
      )
    },
    180_000,
  )

  test('nothing is left of what was deleted: no process, no database', async () => {
    await until(async () => (await databases()).length === 1, 'one database is left')
    expect(programs().length).toBe(before.length)
  }, 30_000)

  async function databases(): Promise<string[]> {
    const client = await connectTo(day.shoal.dataDir, 'postgres')
    try {
      const { rows } = await client.query<{ datname: string }>(
        "select datname from pg_database where datname not in ('postgres', 'template0', 'template1', 'shoal') order by 1",
      )
      return rows.map((r) => r.datname)
    } finally {
      await client.end()
    }
  }
})
