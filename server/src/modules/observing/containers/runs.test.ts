import { createSimRuntime, ManualClock, type SimBehaviour, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { readContainers } from './observe-containers.ts'
import { loadObservationCache } from '../observation-cache.ts'
import { deleteSquid } from '../../versions/store.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock })
  t = await startTestApp({ clock, runtime })
  org = await t.make.org()
})
afterEach(() => t.close())

const make = (eth: SimBehaviour) => makeVersion(t.app, org, { processors: { eth } })
const rows = async <R extends object>(text: string) => (await t.app.database.pool.query<R>(text)).rows
const counts = async () =>
  (
    await rows(
      'select restarts, crashes_in_a_row as crashes, oom_kills as kills, exit_code as code, is_out_of_memory as oom from container_states',
    )
  )[0]

/** Observes once, like a worker that has just become active. */
const observe = async () => {
  const cache = await loadObservationCache(t.app)
  await cache.recordContainers(await readContainers({ clock, runtime }, cache.containers))
}

const crashes: SimBehaviour = { ends: { afterMs: 10, exitCode: 3 } }

test('the next worker counts the crashes that happened while no worker was running', async () => {
  await make(crashes)
  await observe()
  // The back-off between the crashes is 1, 2, 4 and 8 seconds.
  clock.advance(15_200)
  expect(await runtime.observe()).toMatchObject([{ state: 'backoff', lastRun: { ordinal: 4 } }])
  await observe()
  expect(await counts()).toEqual({ restarts: 4, crashes: 5, kills: 0, code: 3, oom: false })
  await observe()
  expect(await counts()).toMatchObject({ restarts: 4, crashes: 5 })
})

test('observed runs are recorded, and deleted with their version', async () => {
  const squid = await make({ ends: { afterMs: 10, outOfMemory: true }, endingRuns: 1 })
  await observe()
  clock.advance(10)
  await observe()
  clock.advance(1000)
  await observe()
  expect(
    await rows(
      'select ordinal, how, exit_code, oom_kills, ended_at is null as open from container_runs order by ordinal',
    ),
  ).toEqual([
    { ordinal: 0, how: 'oom', exit_code: 137, oom_kills: 1, open: false },
    { ordinal: 1, how: null, exit_code: null, oom_kills: null, open: true },
  ])
  expect(await counts()).toEqual({ restarts: 1, crashes: 1, kills: 1, code: 137, oom: true })
  await t.app.db.transaction((tx) => deleteSquid(tx, squid.id))
  expect(await rows('select * from container_runs')).toEqual([])
})

test('only the newest 50 runs of a container are kept, and no total decreases', async () => {
  await make(crashes)
  for (let run = 0; run < 60; run++) {
    clock.advance(10)
    await observe()
    clock.advance(300_000)
    await observe()
  }
  const kept = await rows<{ ordinal: number }>(
    `select ordinal from container_runs where container = 'eth' order by ordinal`,
  )
  const newest = (await runtime.observe())[0]
  const last = newest?.run?.ordinal ?? newest?.lastRun?.ordinal ?? 0
  expect(last).toBeGreaterThan(55)
  expect(kept.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 50 }, (_, i) => last - 49 + i))
  expect(await counts()).toMatchObject({ restarts: last })
})

test('stopping the squids with the server counts neither as a crash nor as a restart', async () => {
  await make({})
  await observe()
  await runtime.close('stop')
  await runtime.start()
  await observe()
  expect(await runtime.observe()).toMatchObject([{ run: { ordinal: 1 }, lastRun: { how: 'stopped' } }])
  expect(await counts()).toMatchObject({ restarts: 0, crashes: 0 })
})

test('counting continues from the totals of an earlier release', async () => {
  await make(crashes)
  clock.advance(15_200)
  await observe()
  await t.app.database.pool.query(
    'update container_states set restarts = 40, oom_kills = 7, run = null, run_ordinal = null, run_end = null',
  )
  await observe()
  expect(await counts()).toMatchObject({ restarts: 40, crashes: 5, kills: 7 })
  clock.advance(16_000)
  await observe()
  expect(await counts()).toMatchObject({ restarts: 41, crashes: 6, kills: 7 })
})
