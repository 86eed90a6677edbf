import { displayStatus, type Squid } from '@shoal/contract'
import { createSimRuntime, ManualClock, type SimBehaviour, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import type { LeaderHandle } from '../../db/leases.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { startObserving, type ObservationIntervals } from './observe.ts'
import { makeVersion, specOf, workloadOf, type VersionSpec } from '../versions/testing/make-version.ts'
import { until } from '../../testing/until.ts'

const fastIntervals: ObservationIntervals = {
  containersMs: 10,
  processorsMs: 10,
  apisMs: 20,
  databasesMs: 20,
  statementsMs: 20,
  locksMs: 20,
  notificationsMs: 1000,
  headsMs: 20,
  sourcesMs: 20,
}
const chain = { fromBlock: 0, headBlock: 1000, headBlocksPerSecond: 1, blocksPerSecond: 100 }
const sync: SimBehaviour = { sync: chain }

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
let observing: LeaderHandle
beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock, serve: true })
  t = await startTestApp({ clock, runtime })
  org = await t.make.org()
  observing = startObserving(t.app, fastIntervals)
})
afterEach(async () => {
  await observing.close()
  await t.close()
})

const getSquid = (): Promise<Squid> =>
  t.as(org.admin).squids.get({ params: { code: org.code, reference: 'test-squid@v1' } })
const makeSquid = (spec: VersionSpec) => makeVersion(t.app, org, spec)

test('a processor starts, syncs, and is synced', async () => {
  await makeSquid({ apis: [{}], processors: { eth: { startMs: 1000, ...sync } } })
  await until(async () =>
    expect((await getSquid()).processors).toMatchObject([
      { status: 'STARTING', syncState: { currentBlock: -1, totalBlocks: 0 } },
    ]),
  )
  clock.advance(6000)
  await until(async () =>
    expect((await getSquid()).processors).toMatchObject([
      { status: 'SYNCING', syncState: { currentBlock: 500, totalBlocks: 1005 }, blocksPerSecond: 100 },
    ]),
  )
  expect(displayStatus(await getSquid())).toBe('PROCESSING')
  clock.advance(60_000)
  await until(async () =>
    expect((await getSquid()).processors).toMatchObject([
      { status: 'SYNCED', syncState: { currentBlock: 1065, totalBlocks: 1065 } },
    ]),
  )
  await until(async () => expect(displayStatus(await getSquid())).toBe('HEALTHY'))
})

test('a processor without progress while its chain grows is stuck', async () => {
  const startMs = clock.now().getTime()
  await makeSquid({
    processors: {
      eth: {
        sync: { ...chain, stallsAtBlock: 300 },
      },
    },
  })
  clock.advance(10_000)
  await until(async () =>
    expect((await getSquid()).processors?.[0]).toMatchObject({ status: 'SYNCING', syncState: { currentBlock: 300 } }),
  )
  /** Advances the clock in steps of half a minute, since a longer time without observations does not count. */
  const advanceObserved = async (ms: number) => {
    for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 30_000) {
      clock.advance(30_000)
      const height = 1000 + Math.floor((clock.now().getTime() - startMs) / 1000)
      await until(async () => expect((await getSquid()).processors?.[0]?.syncState.totalBlocks).toBe(height))
    }
  }
  await advanceObserved(minutes(4))
  expect((await getSquid()).processors?.[0]).toMatchObject({ status: 'SYNCING' })
  await advanceObserved(minutes(2))
  await until(async () =>
    expect((await getSquid()).processors?.[0]).toMatchObject({
      status: 'STUCK',
      reason: expect.stringContaining('at block 300'),
    }),
  )
  expect(displayStatus(await getSquid())).toBe('DEGRADED')
})

test('a crash loop and running out of memory raise alerts', async () => {
  await makeSquid({
    apis: [{}],
    processors: { eth: { ends: { afterMs: 10, exitCode: 1 } }, bsc: { ends: { afterMs: 10, outOfMemory: true } } },
  })
  for (let i = 0; i < 100; i++) clock.advance(1000)
  await until(async () => {
    const squid = await getSquid()
    expect(squid.processors?.map((p) => p.status)).toEqual(['STUCK', 'STUCK'])
    expect(squid.alerts.map((alert) => [alert.label, alert.severity])).toEqual(
      expect.arrayContaining([
        ['eth keeps crashing', 'CRITICAL'],
        ['bsc keeps crashing', 'CRITICAL'],
        ['bsc ran out of memory', 'CRITICAL'],
      ]),
    )
  })
})

test('a version is degraded if its api crashes while it starts, or still does not respond after two minutes', async () => {
  await makeSquid({ apis: [{ startMs: minutes(10) }] })
  await until(async () => expect((await getSquid()).api).toMatchObject({ isStarting: true }))
  clock.advance(minutes(2))
  await until(async () => expect(displayStatus(await getSquid())).toBe('DEGRADED'))
  await makeSquid({ name: 'crashing', apis: [{ ends: { afterMs: 10, exitCode: 1 } }] })
  const get = () => t.as(org.admin).squids.get({ params: { code: org.code, reference: 'crashing@v1' } })
  await until(async () => {
    clock.advance(1000)
    expect(displayStatus(await get())).toBe('DEGRADED')
  })
})

test('an api becomes available when one replica has started, and stays available while any replica responds', async () => {
  const squid = await makeSquid({ apis: [{ startMs: 5000 }, { startMs: 60_000 }] })
  // Before the first round, the reason is the same, but the programs are not known yet.
  await until(async () => {
    const { api, ...squid } = await getSquid()
    expect(api).toMatchObject({ status: 'NOT_AVAILABLE', reason: 'It is starting.', replicas: 2 })
    expect(displayStatus({ ...squid, api })).toBe('PROCESSING')
  })
  clock.advance(6000)
  await until(async () => expect((await getSquid()).api).toMatchObject({ status: 'AVAILABLE', reason: null }))
  await runtime.apply(workloadOf(squid, [specOf('api', 4350, { cannotStart: 'There is no command "serve"' })]))
  await until(async () =>
    expect((await getSquid()).api).toMatchObject({
      status: 'NOT_AVAILABLE',
      reason: expect.stringContaining('no command'),
    }),
  )
  expect(displayStatus(await getSquid())).toBe('DEGRADED')
})

test('the next worker loads the recorded observations, and deletes the observations of removed containers', async () => {
  const squid = await makeSquid({ apis: [{}], processors: { eth: sync } })
  clock.advance(2000)
  await until(async () => expect((await getSquid()).processors?.[0]?.status).toBe('SYNCING'))
  await observing.close()
  await runtime.remove(`${squid.id}.1`)
  observing = startObserving(t.app, fastIntervals)
  await until(async () => {
    const { rows } = await t.app.database.pool.query(
      'select (select count(*) from container_states) + (select count(*) from processor_states) + (select count(*) from api_states) as rows',
    )
    expect(rows).toEqual([{ rows: 0 }])
  })
})

/** Waits until the version's only processor matches `expected`. */
const untilProcessor = (expected: Partial<NonNullable<Squid['processors']>[number]>) =>
  until(async () => expect((await getSquid()).processors?.[0]).toMatchObject(expected))

test('a processor that has processed its last block has finished its work, and is not restarted', async () => {
  await makeSquid({ processors: { eth: { sync: { ...chain, toBlock: 500 } } } })
  clock.advance(4000)
  await untilProcessor({ status: 'SYNCING', syncState: { currentBlock: 400, totalBlocks: 1004 } })
  clock.advance(1000)
  // Its log does not show whether it has finished, so it is restarted once.
  await untilProcessor({ status: 'STARTING', reason: expect.stringContaining('whether it has finished its work') })
  clock.advance(1000)
  const finished = { status: 'SYNCED', reason: 'It has finished its work.', restarts: 1 } as const
  await untilProcessor(finished)
  clock.advance(minutes(60))
  await untilProcessor(finished)
  expect((await getSquid()).alerts).toEqual([])
  // The next worker reaches the same result.
  await observing.close()
  observing = startObserving(t.app, fastIntervals)
  await untilProcessor(finished)
})

test('a processor that ends without an error although its chain grows is restarted, counted and reported', async () => {
  const line = JSON.stringify({ level: 2, ns: 'sqd:processor', msg: 'processing blocks from 0' })
  await makeSquid({ processors: { eth: { print: [line], ends: { afterMs: 10, exitCode: 0 } } } })
  clock.advance(10)
  await untilProcessor({ status: 'STARTING', reason: 'It ended although its chain continues to grow', restarts: 0 })
  for (const [index, waitMs] of [1000, 2000].entries()) {
    clock.advance(waitMs)
    await untilProcessor({ restarts: index + 1 })
    clock.advance(10)
    await until(async () =>
      expect(await runtime.observe()).toMatchObject([{ state: 'backoff', lastRun: { ordinal: index + 1 } }]),
    )
  }
  await untilProcessor({
    status: 'STUCK',
    reason: 'It ended although its chain continues to grow. It was restarted 2 times.',
    restarts: 2,
  })
  expect((await getSquid()).alerts).toMatchObject([{ label: 'eth keeps crashing', severity: 'CRITICAL' }])
  expect(displayStatus(await getSquid())).toBe('DEGRADED')
})

test('nothing is written while nothing changes', async () => {
  await makeSquid({ apis: [{}], processors: { eth: { print: ['nothing to do'], ends: { afterMs: 10, exitCode: 0 } } } })
  clock.advance(100)
  await until(async () => expect(displayStatus(await getSquid())).toBe('HEALTHY'))
  // Every write of a row changes its xmin.
  const versions = async () =>
    (
      await t.app.database.pool.query(
        'select xmin::text from container_states union all select xmin::text from api_states',
      )
    ).rows
  const before = await versions()
  let observeCalls = 0
  const observe = runtime.observe.bind(runtime)
  runtime.observe = () => {
    observeCalls++
    return observe()
  }
  await until(() => expect(observeCalls).toBeGreaterThan(20))
  expect(await versions()).toEqual(before)
})
