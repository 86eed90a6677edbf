import { gapContainer } from '@shoal/contract'
import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { days, hours } from '../../../clock.ts'
import type { LeaderHandle } from '../../../db/leases.ts'
import { metricsRegistry } from '../../../health/metrics-registry.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import type { SquidRow } from '../../versions/index.ts'
import { startLogIngest } from './start-ingest.ts'

/** A burst may be ten times as large: 100 lines, or 100,000 bytes. */
const env = { SHOAL_LOG_LINES_PER_SECOND: '10', SHOAL_LOG_KB_PER_SECOND: '10', SHOAL_LOG_MB_PER_DAY: '0.2' }

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
let squid: SquidRow
let ingest: LeaderHandle

beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock })
  t = await startTestApp({ clock, runtime, env })
  org = await t.make.org()
  squid = await makeVersion(t.app, org, { processors: { eth: { print: ['started'] } } })
  ingest = startLogIngest(t.app)
  await until(async () => expect(await messages()).toEqual(['started']))
})
afterEach(async () => {
  await ingest.close()
  await t.close()
})

const restartWorker = async () => {
  await ingest.close()
  ingest = startLogIngest(t.app)
}

const history = async (query: object = {}, reference = 'test-squid@v1') => {
  const params = { code: org.code, reference }
  return (await t.as(org.admin).logs.history({ params, query: { limit: '10000', orderBy: 'asc', ...query } })).logs
}
const messages = async (query?: object, reference?: string) =>
  (await history(query, reference)).map(({ payload }) => String(payload))
/** Returns the system lines of the log. */
const reports = async (query?: object) =>
  (await history(query)).filter(({ container }) => container === gapContainer).map(({ payload }) => String(payload))
const untilReports = (expected: string[]) => until(async () => expect(await reports()).toEqual(expected))

/** Restarts the container so that it prints these lines. Resolves when they are stored or dropped. */
const write = async (lines: string[], generation = 1) => {
  await runtime.apply(workloadOf({ ...squid, generation }, [specOf('eth', 3000, { print: lines })]))
  await makeMarker()
}
let markers = 0
/**
 * Prints a line in another version and waits until it is stored. Batches are stored in order, so all earlier lines are
 * handled then.
 */
const makeMarker = async () => {
  const name = `marker-${markers++}`
  await makeVersion(t.app, org, { name, processors: { eth: { print: ['here'] } } })
  await until(async () => expect(await messages({}, `${name}@v1`)).toEqual(['here']))
}

const numbers = (count: number, prefix = 'line') => Array.from({ length: count }, (_, i) => `${prefix} ${i}`)

describe('a version that writes more than its rate', () => {
  test('loses the lines above the rate, and its log reports how many, when and why', async () => {
    await write(numbers(1_000))
    clock.advance(3_000)
    await untilReports(['900 lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 lines a second'])
    expect(await messages()).toEqual([
      'started',
      ...numbers(100),
      '900 lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 lines a second',
    ])
    await write(['30 lines more fit after three seconds', ...numbers(29), 'one too many'])
    clock.advance(3_000)
    await untilReports([
      '900 lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 lines a second',
      '1 line dropped between 12:00:03 and 12:00:03 UTC: more than 10 lines a second',
    ])
  })

  test('in bytes loses lines, too', async () => {
    await write(numbers(50, 'x'.repeat(10_000)))
    clock.advance(3_000)
    await untilReports(['40 lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 KB a second'])
    expect(await messages()).toHaveLength(12)
  })

  test('without a pause causes a report in its log each minute', async () => {
    for (let second = 0; second <= 124; second += 2) {
      await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: numbers(200, `${second}`) })]))
      await makeMarker()
      clock.advance(2_000)
    }
    const found = await reports()
    expect(found).toHaveLength(2)
    expect(found[0]).toMatch(/^[\d,]+ lines dropped between 12:00:00 and 12:01:00 UTC: more than 10 lines a second$/)
    clock.advance(3_000)
    await until(async () => expect(await reports()).toHaveLength(3))
    const dropped = (await reports()).reduce((sum, text) => sum + Number(text.split(' ')[0]?.replace(',', '')), 0)
    const stored = (await messages()).length - 1 - 3
    expect(dropped + stored).toBe(63 * 200)
  })

  test('does not affect another version', async () => {
    const other = await makeVersion(t.app, org, { name: 'other', processors: { eth: { print: numbers(90) } } })
    await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: numbers(5_000) })]))
    await until(async () => expect(await messages({}, 'other@v1')).toEqual(numbers(90)))
    expect(other.id).not.toBe(squid.id)
  })

  test('has the report in the log of every container, and in downloads', async () => {
    await write(numbers(200))
    clock.advance(3_000)
    const [report] = await until(async () => {
      const found = await reports()
      expect(found).toHaveLength(1)
      return found
    })
    for (const container of ['processor', 'api', 'eth'])
      expect(await reports({ container: [container] })).toEqual([report])
    expect(await reports({ level: ['WARNING'] })).toEqual([report])
    const url = `${await t.listen()}/api/v1/orgs/${org.code}/squids/test-squid@v1/logs/download`
    const response = await fetch(url, { headers: { authorization: `Bearer ${org.admin.token}` } })
    expect(await response.text()).toContain(`WARNING ${gapContainer} ${report}`)
  })
})

describe('the daily quota', () => {
  // Each line counts as its 880 bytes plus 120, so 200 lines use up the quota.
  let batches = 0
  const lines = (count: number) => numbers(count, `${batches++} ${'x'.repeat(900)}`).map((line) => line.slice(0, 880))

  /** Prints lines at a rate below the limit. */
  const writeSlowly = async (count: number) => {
    for (let written = 0; written < count; written += 50) {
      clock.advance(10_000)
      await write(lines(50))
    }
  }

  /** Returns the lines that the squid itself wrote. */
  const written = async () => (await history()).filter(({ container }) => container === 'eth')

  test('is enforced until the next day, even after restarts of the worker and of the squid', async () => {
    await writeSlowly(300)
    clock.advance(3_000)
    await until(async () => expect(await reports()).toHaveLength(1))
    expect((await reports())[0]).toMatch(
      /^\d+ lines dropped between 12:00:\d\d and 12:0\d:\d\d UTC: more than 200 KB a day\. Further lines are dropped until 00:00 UTC$/,
    )
    // 200 lines of 1,000 bytes, and the line at the start.
    expect(await written()).toHaveLength(201)

    await restartWorker()
    await write(lines(50), 2)
    await restartWorker()
    await write(['of a new generation'], 3)
    expect(await written()).toHaveLength(201)

    clock.advance(days(1))
    await write(['of the next day'], 4)
    expect((await written()).slice(201).map(({ payload }) => payload)).toEqual(['of the next day'])
  })

  test('limits the bytes that the database stores', async () => {
    const size = async () => {
      const query =
        "select sum(pg_total_relation_size(c.oid))::float8 as bytes from pg_class c where relname ~ '^log_lines_2' and relkind = 'r'"
      return (await t.app.database.pool.query<{ bytes: number }>(query)).rows[0]?.bytes ?? 0
    }
    // Invalid UTF-8 needs three times the bytes.
    for (let round = 0; round < 30; round++) {
      clock.advance(10_000)
      await write([
        ...numbers(40, `${round}${'\ufffd'.repeat(300)}`),
        ...numbers(50, ''),
        '{"msg":"m","big":[1e20,1e20]}',
      ])
    }
    expect(await size()).toBeLessThan(2 * 200_000 + 200_000)
    expect((await reports())[0]).toContain('KB a day')
  })

  test('is reported once an hour while it is used up', async () => {
    await writeSlowly(300)
    clock.advance(3_000)
    await until(async () => expect(await reports()).toHaveLength(1))
    for (let minute = 0; minute < 50; minute += 10) {
      await write([`more ${minute}`])
      clock.advance(600_000)
    }
    expect(await reports()).toHaveLength(1)
    clock.advance(hours(1))
    await until(async () => expect(await reports()).toHaveLength(2))
    expect((await reports())[1]).toMatch(/^5 lines dropped/)
  })
})

test('dropped lines that a worker has not reported when it stops are reported by the next worker', async () => {
  await write(numbers(200))
  await restartWorker()
  clock.advance(3_000)
  await untilReports(['100 lines dropped between 12:00:00 and 12:00:00 UTC: more than 10 lines a second'])
  await restartWorker()
  clock.advance(3_000)
  await makeMarker()
  expect(await reports()).toHaveLength(1)
})

test('lines that squids wrote while no worker ran are all stored', async () => {
  await ingest.close()
  await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: numbers(900, '') })]))
  ingest = startLogIngest(t.app)
  await until(async () => expect(await messages()).toHaveLength(901))
  clock.advance(3_000)
  await makeMarker()
  expect(await reports()).toEqual([])
})

test('the metrics count stored and dropped lines', async () => {
  await write(numbers(200))
  // The role that serves the metrics page has another `App` object than the worker.
  const metrics = () => metricsRegistry({ ...t.app }).metrics()
  const dropped = /^shoal_log_lines_dropped_total\{limit="linesPerSecond"\} 100$/m
  // Dropped lines count immediately and only once, although the log reports them later.
  await until(async () => expect(await metrics()).toMatch(dropped))
  expect(await reports()).toEqual([])
  clock.advance(3_000)
  await until(async () => expect(await reports()).toHaveLength(1))
  const text = await metrics()
  expect(text).toMatch(dropped)
  expect(text).toMatch(/^shoal_log_lines_stored_total 1\d\d$/m)
})

test('0 disables a limit', async () => {
  await ingest.close()
  const config = { ...t.app.config, SHOAL_LOG_LINES_PER_SECOND: 0, SHOAL_LOG_KB_PER_SECOND: 0, SHOAL_LOG_MB_PER_DAY: 0 }
  ingest = startLogIngest({ ...t.app, config })
  await makeMarker()
  await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: numbers(5_000) })]))
  await until(async () => expect(await messages()).toHaveLength(5_001))
})
