import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerApp } from '../app.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { until } from '../testing/until.ts'
import { claimHost, HostClaimed, releaseHost, watchClaim } from './host-claim.ts'

// There are two data directories; the worker of the second one uses the database of the first.
let t: TestApp
let otherApp: TestApp
let otherWorker: WorkerApp
beforeEach(async () => {
  const env = { DATABASE_URL: 'postgres://elsewhere/shoal' }
  ;[t, otherApp] = await Promise.all([startTestApp({ env }), startTestApp({ env })])
  otherWorker = { ...otherApp.app, database: t.app.database, db: t.app.db }
})
afterEach(() => Promise.all([t.close(), otherApp.close()]))

test('a worker of another data directory is rejected with the location of the squids and instructions', async () => {
  await claimHost(t.app)
  await claimHost(t.app)
  const rejection = await claimHost(otherWorker).catch((error: unknown) => error)
  expect(rejection).toBeInstanceOf(HostClaimed)
  expect(String(rejection)).toContain(t.app.config.dataDir)
  expect(String(rejection)).toContain('shoal -- host release')
})

test('of two workers that start concurrently, exactly one claims the squids', async () => {
  const outcomes = await Promise.allSettled([claimHost(t.app), claimHost(otherWorker)])
  expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected'])
})

test('when an operator releases the squids, their worker is notified and loses the claim', async () => {
  await claimHost(t.app)
  const claimErrors: HostClaimed[] = []
  const stop = watchClaim(t.app, (error) => claimErrors.push(error), 10)
  expect(await releaseHost(t.app)).toMatchObject({ released: expect.stringContaining(t.app.config.dataDir) })
  await until(() => expect(claimErrors).toHaveLength(1))
  await claimHost(otherWorker)
  await expect(claimHost(t.app)).rejects.toThrow(HostClaimed)
  stop()
})

test('a worker with the embedded Postgres can take over the claim, for example after a restore', async () => {
  await claimHost(t.app)
  const config = { ...otherWorker.config, DATABASE_URL: undefined }
  await claimHost({ ...otherWorker, config })
  await expect(claimHost(t.app)).rejects.toThrow(HostClaimed)
})
