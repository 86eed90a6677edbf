import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerApp } from '../app.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { until } from '../testing/until.ts'
import { claimHost, HostClaimed, releaseHost, watchClaim } from './host-claim.ts'

/** Two data directories; `other` uses the database of `t`. */
let t: TestApp
let elsewhere: TestApp
let other: WorkerApp
beforeEach(async () => {
  const env = { DATABASE_URL: 'postgres://elsewhere/shoal' }
  ;[t, elsewhere] = await Promise.all([startTestApp({ env }), startTestApp({ env })])
  other = { ...elsewhere.app, database: t.app.database, db: t.app.db }
})
afterEach(() => Promise.all([t.close(), elsewhere.close()]))

test('a worker of another data directory is refused with the location of the squids and what to do', async () => {
  await claimHost(t.app)
  await claimHost(t.app)
  const refused = await claimHost(other).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(HostClaimed)
  expect(String(refused)).toContain(t.app.config.dataDir)
  expect(String(refused)).toContain('shoal -- host release')
})

test('of two workers that start concurrently, one gets the squids', async () => {
  const outcomes = await Promise.allSettled([claimHost(t.app), claimHost(other)])
  expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('when an operator releases the squids, the worker that ran them is notified and must stop them', async () => {
  await claimHost(t.app)
  const lost: HostClaimed[] = []
  const stop = watchClaim(t.app, (error) => lost.push(error), 10)
  expect(await releaseHost(t.app)).toMatchObject({ released: expect.stringContaining(t.app.config.dataDir) })
  await until(() => expect(lost).toHaveLength(1))
  await claimHost(other)
  await expect(claimHost(t.app)).rejects.toThrow(HostClaimed)
  stop()
})

test('the owner of the data directory with the embedded Postgres gets the squids, as after a restore', async () => {
  await claimHost(t.app)
  const config = { ...other.config, DATABASE_URL: undefined }
  await claimHost({ ...other, config })
  await expect(claimHost(t.app)).rejects.toThrow(HostClaimed)
})
