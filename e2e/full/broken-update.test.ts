import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { totalTransfers } from '../support/squid.ts'
import { until } from '../support/until.ts'

/** An update that fails never interrupts the running version. */
describe('a broken update', () => {
  let cloud: TestCloud
  let expected: number

  beforeAll(async () => {
    cloud = await startTestCloud({ prebuilt: 'dependencies' })
    await cloud.setRpcUrl()
    const first = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1', tag: 'prod' }))
    expect(first.failureReason).toBeNull()
    expected = await cloud.devnet.chain.countTransfers()
    await until(
      async () => (await totalTransfers(cloud.endpointOf('erc20-transfers@v1'))) === expected,
      'the squid has indexed all transfers',
    )
  })

  afterAll(() => cloud?.end())

  /** Sends queries without interruption while `work` runs. Returns their number, and the results that are wrong. */
  async function whileQuerying(work: () => Promise<void>): Promise<{ queries: number; failures: unknown[] }> {
    let isDone = false
    const failures: unknown[] = []
    let queries = 0
    const querying = (async () => {
      while (!isDone) {
        queries++
        const transfers = await totalTransfers(cloud.endpointOf('erc20-transfers:prod')).catch((error: unknown) =>
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

  /** Deploys the project with one changed file, and restores the file afterwards. */
  async function deployWith(file: string, change: (text: string) => string) {
    const path = join(cloud.project, file)
    const original = existsSync(path) ? readFileSync(path, 'utf8') : null
    writeFileSync(path, change(original ?? ''))
    try {
      return await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))
    } finally {
      if (original === null) rmSync(path)
      else writeFileSync(path, original)
    }
  }

  const faults = [
    {
      fault: 'a build error',
      file: 'src/main.ts',
      change: (text: string) => `${text}\nconst broken: number = 'text'\n`,
      failed: 'SOURCE_FILES_BUILD_FAILED',
      reason: /broken|TS2322/,
    },
    {
      fault: 'a failing migration',
      file: 'db/migrations/9999999999999-Broken.js',
      change: () =>
        `module.exports = class Broken9999999999999 {
          name = 'Broken9999999999999'
          async up(db) { await db.query('select * from no_such_table') }
          async down() {}
        }`,
      failed: 'REQUIREMENTS',
      reason: /init/,
    },
    {
      fault: 'an api that crashes',
      file: 'commands.json',
      change: (text: string) => text.replaceAll('squid-graphql-server', 'no-such-program-anywhere'),
      failed: 'REQUIREMENTS',
      reason: /api/,
    },
  ]
  test.each(faults)(
    'an update with $fault fails with its reason, and no query fails',
    async ({ file, change, failed, reason }) => {
      const outcome = await whileQuerying(async () => {
        const deployment = await deployWith(file, change)
        expect(deployment.failed).toBe(failed)
        expect(deployment.failureReason).toMatch(reason)
      })
      expect(outcome.failures).toEqual([])
      expect(outcome.queries).toBeGreaterThan(10)
    },
    180_000,
  )

  test('no request fails during a successful update', async () => {
    const outcome = await whileQuerying(async () => {
      const deployment = await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1' }))
      expect(deployment.status).toBe('OK')
    })
    expect(outcome.failures).toEqual([])
  })
})
