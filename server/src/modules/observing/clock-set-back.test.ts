import type { Squid } from '@shoal/contract'
import { createSimRuntime, ManualClock } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hours, minutes } from '../../clock.ts'
import type { LeaderHandle } from '../../db/leases.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { until } from '../../testing/until.ts'
import { startObserving } from './observe.ts'
import { makeVersion } from '../versions/testing/make-version.ts'

const intervals = {
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

let t: TestApp
let clock: ManualClock
let setBackMs = 0
let org: TestOrg
let observing: LeaderHandle
beforeEach(async () => {
  clock = new ManualClock()
  setBackMs = 0
  const runtime = createSimRuntime({ clock, serve: true })
  t = await startTestApp({ clock: { now: () => new Date(clock.now().getTime() - setBackMs) }, runtime })
  org = await t.make.org()
  observing = startObserving(t.app, intervals)
})
afterEach(async () => {
  await observing.close()
  await t.close()
})

const processor = async (): Promise<NonNullable<Squid['processors']>[number] | undefined> =>
  (await t.as(org.admin).squids.get({ params: { code: org.code, reference: 'test-squid@v1' } })).processors?.[0]

test('after the clock of the host is set back an hour, the status stays the same and new observations are recorded', async () => {
  const sync = { fromBlock: 0, headBlock: 1000, headBlocksPerSecond: 1, blocksPerSecond: 100, stallsAtBlock: 1100 }
  await makeVersion(t.app, org, { processors: { eth: { sync } } })
  clock.advance(60_000)
  const untilSyncedTo = (block: number) =>
    until(async () => expect(await processor()).toMatchObject({ status: 'SYNCED', syncState: { currentBlock: block } }))
  await untilSyncedTo(1060)

  // The start times of the containers are now in the future.
  setBackMs = hours(1)
  clock.advance(10_000)
  await untilSyncedTo(1070)
  for (let elapsedMs = 0; elapsedMs < minutes(10); elapsedMs += 30_000) {
    clock.advance(30_000)
    await until(async () => expect((await processor())?.syncState?.totalBlocks).toBe(1100 + elapsedMs / 1000))
  }
  await until(async () => expect(await processor()).toMatchObject({ status: 'STUCK' }))
})
