import { gapContainer } from '@shoal/contract'
import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { days } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import type { LeaderHandle } from '../../../db/leases.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { deleteSquid, type SquidRow } from '../../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { rotateDayPartitions } from './retention.ts'
import { startLogIngest } from './start-ingest.ts'

/** 300 lines of 1,000 bytes for an organization, 200 for a version. The rates of versions are not limited. */
const env = {
  SHOAL_LOG_LINES_PER_SECOND: '0',
  SHOAL_LOG_KB_PER_SECOND: '0',
  SHOAL_LOG_MB_PER_DAY: '0.2',
  SHOAL_LOG_ORG_MB_PER_DAY: '0.3',
}

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
let neighbour: TestOrg
let ingest: LeaderHandle

beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock })
  t = await startTestApp({ clock, runtime, env })
  org = await t.make.org()
  neighbour = await t.make.org()
  ingest = startLogIngest(t.app)
})
afterEach(async () => {
  await ingest.close()
  await t.close()
})

const restartWorker = async (settings: Partial<Config> = {}) => {
  await ingest.close()
  ingest = startLogIngest({ ...t.app, config: { ...t.app.config, ...settings } })
}

let batches = 0
/** Each line counts as its 880 bytes plus 120. */
const lines = (count: number) =>
  Array.from({ length: count }, (_, i) => `${batches++} ${i} ${'x'.repeat(900)}`.slice(0, 880))

const logOf = async ({ code, admin }: TestOrg, name: string) => {
  const params = { code, reference: `${name}@v1` }
  return (await t.as(admin).logs.history({ params, query: { limit: '10000', orderBy: 'asc' } })).logs
}
const written = async (of: TestOrg, name: string) =>
  (await logOf(of, name)).filter(({ container }) => container === 'eth').length
const reports = async (of: TestOrg, name: string) =>
  (await logOf(of, name)).filter(({ container }) => container === gapContainer).map(({ payload }) => String(payload))

const makeSquid = async (of: TestOrg, name: string) => {
  const squid = await makeVersion(t.app, of, { name, processors: { eth: { print: ['started'] } } })
  await until(async () => expect(await written(of, name)).toBe(1))
  return squid
}

/** Restarts the container of a version so that it prints `count` lines. Resolves when they are stored or dropped. */
const write = async (squid: SquidRow, count: number) => {
  await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: lines(count) })]))
  const name = `marker-${batches}`
  await makeSquid(neighbour, name)
}

const orgQuotaReport =
  /^[\d,]+ lines? dropped between [\d:]{8} and [\d:]{8} UTC: more than 300 KB a day in all logs of the organization\. Further lines are dropped until 00:00 UTC$/

test('the versions of an organization share a daily quota, and each log reports when it is used up', async () => {
  const [one, two, three] = [await makeSquid(org, 'one'), await makeSquid(org, 'two'), await makeSquid(org, 'three')]
  await write(one, 150)
  await write(two, 150)
  expect([await written(org, 'one'), await written(org, 'two')]).toEqual([151, 151])
  await write(three, 50)
  expect(await written(org, 'three')).toBe(1)
  clock.advance(3_000)
  await until(async () => expect(await reports(org, 'three')).toEqual([expect.stringMatching(orgQuotaReport)]))

  // The version's own quota is smaller, and the report names it.
  const other = await makeSquid(neighbour, 'other')
  await write(other, 250)
  expect(await written(neighbour, 'other')).toBe(201)
  clock.advance(3_000)
  await until(async () => expect(await reports(neighbour, 'other')).toHaveLength(1))
  expect((await reports(neighbour, 'other'))[0]).toContain('more than 200 KB a day. Further')
})

test('neither deleting a version nor restarting the worker frees a part of the quota, but the next day does', async () => {
  const one = await makeSquid(org, 'one')
  await write(one, 199)
  await runtime.remove(workloadOf(one, []).id)
  await t.app.db.transaction((tx) => deleteSquid(tx, one.id))
  await rotateDayPartitions(t.app)
  await restartWorker()

  const two = await makeSquid(org, 'two')
  await write(two, 150)
  const stored = 102
  expect(await written(org, 'two')).toBe(stored)

  clock.advance(days(1))
  await write(two, 50)
  expect(await written(org, 'two')).toBe(stored + 50)
})

test('a restart of the worker does not repeat the report that a quota is used up', async () => {
  const one = await makeSquid(org, 'one')
  await write(one, 250)
  clock.advance(3_000)
  await until(async () => expect(await reports(org, 'one')).toHaveLength(1))
  await restartWorker()
  await write(one, 5)
  clock.advance(3_000)
  await restartWorker()
  await write(one, 5)
  expect(await reports(org, 'one')).toHaveLength(1)
})

describe('the rate of an organization', () => {
  /** Allows bursts of 100 lines or 50,000 bytes. */
  const settings = { SHOAL_LOG_ORG_LINES_PER_SECOND: 10, SHOAL_LOG_ORG_KB_PER_SECOND: 5 }
  beforeEach(() => restartWorker(settings))

  const shortLines = (count: number) => Array.from({ length: count }, (_, i) => `${i}`)
  const print = async (squid: SquidRow, printed: string[]) => {
    await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: printed })]))
    await makeSquid(neighbour, `marker-${batches++}`)
  }

  test('is shared by its versions, each of which reports its dropped lines; neighbours lose none', async () => {
    const [one, two, other] = [
      await makeSquid(org, 'one'),
      await makeSquid(org, 'two'),
      await makeSquid(neighbour, 'other'),
    ]
    await print(one, shortLines(60))
    await print(two, shortLines(60))
    await print(other, shortLines(60))
    expect([await written(org, 'one'), await written(neighbour, 'other')]).toEqual([61, 61])
    // The lines that squids print at their start count, too, unless the squids wrote them before the worker started to read.
    const stored = await written(org, 'two')
    expect(stored).toBeGreaterThanOrEqual(1 + 38)
    expect(stored).toBeLessThanOrEqual(1 + 40)
    // The next worker reports what this one has dropped.
    await restartWorker(settings)
    clock.advance(3_000)
    await until(async () =>
      expect(await reports(org, 'two')).toEqual([
        `${61 - stored} lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 lines a second in all logs of the organization`,
      ]),
    )
    expect([...(await reports(org, 'one')), ...(await reports(neighbour, 'other'))]).toEqual([])
  })

  test('applies to bytes, and a new version does not escape it', async () => {
    const one = await makeSquid(org, 'one')
    await print(one, lines(50))
    const two = await makeSquid(org, 'two')
    await print(two, lines(50))
    expect((await written(org, 'one')) + (await written(org, 'two'))).toBeLessThan(65)
    clock.advance(3_000)
    await until(async () =>
      expect(await reports(org, 'two')).toEqual([
        expect.stringContaining('more than 5 KB a second in all logs of the organization'),
      ]),
    )
    clock.advance(10_000)
    await print(two, ['fits again'])
    expect((await logOf(org, 'two')).map(({ payload }) => payload)).toContain('fits again')
  })
})
