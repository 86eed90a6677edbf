import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDay, type Day } from './support/day.ts'
import { deploy, ended } from './support/deploy.ts'
import { totalTransfers } from './support/squid.ts'
import { until } from './support/until.ts'

/** A failing update never interrupts the running version. */
describe('a broken update', () => {
  let day: Day
  let expected: number

  beforeAll(async () => {
    day = await startDay({ prebuilt: 'dependencies' })
    await day.api.secrets.change({
      params: { code: day.org },
      body: { secrets: [{ action: 'UPDATE', name: 'RPC_URL', value: day.devnet.rpcUrl }] },
    })
    const first = await ended(day, await deploy(day, { slot: 'v1', tag: 'prod' }))
    expect(first.failureReason).toBeNull()
    expected = await day.devnet.chain.countTransfers()
    await until(async () => (await totalTransfers(day.endpointOf('erc20-transfers@v1'))) === expected, 'it has indexed')
  }, 300_000)

  afterAll(() => day?.end())

  /** Sends queries during `work`; returns their number and the failed results. */
  async function whileQuerying(work: () => Promise<void>): Promise<{ queries: number; failures: unknown[] }> {
    let isDone = false
    const failures: unknown[] = []
    let queries = 0
    const querying = (async () => {
      while (!isDone) {
        queries++
        const transfers = await totalTransfers(day.endpointOf('erc20-transfers:prod')).catch((error: unknown) =>
          String(error),
        )
        if (transfers !== expected) failures.push(transfers)
        await pause(20)
      }
    })()
    try {
      await work()
    } finally {
      isDone = true
      await querying
    }
    return { queries, failures }
  }

  /** Changes a file of the project for one deployment. */
  async function deployWith(file: string, change: (text: string) => string) {
    const path = join(day.project, file)
    const before = existsSync(path) ? readFileSync(path, 'utf8') : null
    writeFileSync(path, change(before ?? ''))
    try {
      return await ended(day, await deploy(day, { slot: 'v1' }))
    } finally {
      if (before === null) rmSync(path)
      else writeFileSync(path, before)
    }
  }

  test.each([
    {
      what: 'a build error',
      file: 'src/main.ts',
      change: (text: string) => `${text}\nconst broken: number = 'text'\n`,
      failed: 'SOURCE_FILES_BUILD_FAILED',
      says: /broken|TS2322/,
    },
    {
      what: 'a failing migration',
      file: 'db/migrations/9999999999999-Broken.js',
      change: () =>
        `module.exports = class Broken9999999999999 {
          name = 'Broken9999999999999'
          async up(db) { await db.query('select * from no_such_table') }
          async down() {}
        }`,
      failed: 'REQUIREMENTS',
      says: /init/,
    },
    {
      what: 'an api that crashes',
      file: 'commands.json',
      change: (text: string) => text.replaceAll('squid-graphql-server', 'no-such-program-anywhere'),
      failed: 'REQUIREMENTS',
      says: /api/,
    },
  ])(
    '$what fails with its reason, without a failed query',
    async ({ file, change, failed, says }) => {
      const outcome = await whileQuerying(async () => {
        const deployment = await deployWith(file, change)
        expect(deployment.failed).toBe(failed)
        expect(deployment.failureReason).toMatch(says)
      })
      expect(outcome.failures).toEqual([])
      expect(outcome.queries).toBeGreaterThan(10)
    },
    180_000,
  )

  test('a good update switches without a failed request', async () => {
    const outcome = await whileQuerying(async () => {
      const deployment = await ended(day, await deploy(day, { slot: 'v1' }))
      expect(deployment.status).toBe('OK')
    })
    expect(outcome.failures).toEqual([])
  }, 180_000)
})
