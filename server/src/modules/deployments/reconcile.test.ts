import { setTimeout as sleep } from 'node:timers/promises'
import type { Workload } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { containerNames } from '../containers.ts'
import { listDesired } from '../versions/index.ts'
import { ownerConnection } from '../databases/index.ts'
import { snapshotOf } from './runtime-snapshot.ts'
import { driftedVersions, removeTenantsOfDeletedOrgs } from './reconcile.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

type DesiredVersions = Awaited<ReturnType<typeof listDesired>>

let t: DeployApp
let d: Deployer
let worker: { close: () => Promise<void> }
beforeEach(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  worker = t.startWorker()
})
afterEach(async () => {
  await worker?.close()
  await t?.close()
})

const running = async () => (await t.runtime.observe()).map((o) => `${o.workload}/${o.container}`).sort()

/** Waits until the runtime shows exactly these containers. */
async function untilRunning(expected: string[]): Promise<void> {
  while (JSON.stringify(await running()) !== JSON.stringify(expected.toSorted())) await sleep(10)
}

test('missing containers are started again, without init; undesired containers are removed', async () => {
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  const desired = [`${squid?.id}.1/api`, `${squid?.id}.1/processor`]
  expect(await running()).toEqual(desired)
  const [lostWorkload] = [...t.runtime.host.workloads.values()]
  await t.runtime.remove(`${squid?.id}.1`)
  await untilRunning(desired)
  const stray = (id: string): Workload => ({ ...(lostWorkload?.desired as Workload), id })
  await t.runtime.apply(stray(`${squid?.id}.7`))
  await t.runtime.apply(stray('999999.1'))
  await untilRunning(desired)
  const api = lostWorkload?.desired.containers.filter((c) => c.name === 'api') ?? []
  await t.runtime.apply({ ...stray(`${squid?.id}.1`), containers: api })
  await untilRunning(desired)
})

test('a hibernated version stays stopped', async () => {
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  const [before] = [...t.runtime.host.workloads.values()]
  await d.waitForEnd(await d.api.squids.hibernate({ params: { code: d.org.code, reference: 'test-squid@v1' } }))
  await t.runtime.apply(before?.desired as Workload)
  expect(await running()).toHaveLength(2)
  await untilRunning([])
  expect(squid).not.toBeNull()
})

test('a deleted organization is removed with its versions and their databases', async () => {
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  await d.deployAndWait({}, { slot: 'v2' })
  const building = await d.deploy({ build: { takesMs: 300 } }, { slot: 'v3' })
  await t.app.database.pool.query('update orgs set deleted_at = now() where id = $1', [d.org.id])
  const rows = async (table: string) =>
    (
      await t.app.database.pool.query(`select 1 from ${table} where ${table === 'orgs' ? 'id' : 'org_id'} = $1`, [
        d.org.id,
      ])
    ).rowCount
  while (await rows('squids')) await sleep(10)
  expect(await rows('orgs')).toBe(1)
  // Billing, which marks an organization as settled, does not run in this test.
  await t.app.database.pool.query('update orgs set settled_at = now() where id = $1', [d.org.id])
  while (await rows('orgs')) await sleep(10)
  expect(await running()).toEqual([])
  await removeTenantsOfDeletedOrgs(t.app)
  expect(await t.runtime.tenants()).toEqual([])
  expect([await rows('squids'), await rows('deployments'), await rows('uploads')]).toEqual([0, 0, 0])
  const remaining = await t.app.databaseHosts
    .get('main')
    .cluster.pool.query(`select datname from pg_database d join installation i on starts_with(datname, i.prefix)`)
  expect(remaining.rows).toEqual([])
  expect(building.squid?.id).not.toBe(squid?.id)
})

test('the database of a deleted version is removed when a worker starts', async () => {
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  const name = (await ownerConnection(t.app, squid?.id ?? 0))?.database
  const exists = async () =>
    (await t.app.databaseHosts.get('main').cluster.pool.query('select 1 from pg_database where datname = $1', [name]))
      .rowCount === 1
  expect(await exists()).toBe(true)
  await worker.close()
  await t.app.database.pool.query('delete from squids where id = $1', [squid?.id])
  worker = t.startWorker()
  while (await exists()) await sleep(10)
  await untilRunning([])
})

test('a comparison of a thousand versions is fast and finds exactly those that drifted', async () => {
  const desired: DesiredVersions = Array.from({ length: 1_000 }, (_, id) => ({
    id,
    orgId: 1,
    generation: 3,
    apiReplicas: 2,
    hasuraReplicas: 0,
    processors: ['eth', 'base'],
    hasWorkload: true,
  }))
  const snapshots = () =>
    snapshotOf(
      desired.flatMap(({ id, ...counts }) =>
        containerNames(counts).map((container) => ({
          workload: `${id}.3`,
          container,
          state: 'running' as const,
          since: new Date(0),
          run: null,
          lastRun: null,
          retryAt: null,
          diskFullSince: null,
          hostLostSince: null,
          reason: null,
        })),
      ),
    )
  const startedMs = performance.now()
  expect(await driftedVersions(await snapshots(), desired)).toEqual([])
  expect(performance.now() - startedMs).toBeLessThan(500)
  expect(await driftedVersions(await snapshots(), desired.slice(0, 999))).toEqual([999])
  expect(
    await driftedVersions(await snapshots(), [...desired, { ...(desired[0] as DesiredVersions[number]), id: 5_000 }]),
  ).toEqual([5_000])
  expect(await listDesired(t.app.db)).toEqual([])
})
