import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import type { DatabaseHost } from '../db/database-hosts.ts'
import { startSecondServer, type SecondServer } from '../modules/databases/testing/second-server.ts'
import { startDeployApp, type DeployApp, type Deployer } from '../modules/deployments/testing/deploy-app.ts'
import { emptyDatabase } from '../testing/test-database.ts'
import { copyInstallation, finishMove } from './copy.ts'
import { appOf, makePlan } from './plan.ts'
import type { Side } from './side.ts'

let t: DeployApp
let d: Deployer
let second: SecondServer
let other: Database
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  ;[second, other] = await Promise.all([startSecondServer(250), emptyDatabase()])
  await t.withWorker(() => d.deployAndWait({}, { name: 'one', slot: 'v1' }))
})
afterAll(async () => {
  await second?.close()
  await other?.close()
  await t?.close()
})

const signal = new AbortController().signal

function side(database: Database, hosts: Partial<DatabaseHost>[], change: Partial<Config> = {}): Side {
  const config = { ...t.app.config, SHOAL_RUNTIME: 'sim' as const, ...change }
  return {
    config,
    stateDir: config.dataDir,
    log: t.app.log,
    database,
    hosts: hosts.map((host) => ({ name: 'main', cluster: second.cluster, weight: 1, maxDatabases: null, ...host })),
    location: 'a location',
    close: () => Promise.resolve(),
  }
}
const source = (change?: Partial<Config>) => side(t.app.database, [{ cluster: t.app.database }], change)
const target = (hosts: Partial<DatabaseHost>[] = [{}], change?: Partial<Config>) => side(other, hosts, change)
const refusalsOf = async (from: Side, to: Side) => (await makePlan(from, to, false)).refusals.join('\n')

test('plans the copy of each database to the server with its name, otherwise to the first for all versions', async () => {
  const hosts = [{ name: 'large', isForDedicated: true }, { name: 'first' }, { name: 'second' }]
  const plan = await makePlan(source(), target(hosts), false)
  expect(plan).toMatchObject({ refusals: [], runningVersions: 1, databases: [{ to: 'first', isCopied: true }] })
  const named = await makePlan(source(), target([{ name: 'first' }, { name: 'main' }]), false)
  expect(named.databases).toMatchObject([{ to: 'main', isCopied: true }])
})

test('refuses a target without capacity, keys, logs or Hasura, before anything is stopped', async () => {
  expect(await refusalsOf(source(), target([{ maxDatabases: 0 }]))).toContain('shoal_max_databases is 0')
  const otherKeys = { SHOAL_SECRETS_KEY: Buffer.alloc(32, 9).toString('base64') }
  expect(await refusalsOf(source(), target([{}], otherKeys))).toContain('does not have the keys')
  const noKeys = { dataDir: join(t.app.config.dataDir, 'missing') }
  expect(await refusalsOf(source(), target([{}], noKeys))).toContain('does not have the keys')
  const logs = { SHOAL_LOGS_DATABASE_URL: 'postgres://a/logs' }
  expect(await refusalsOf(source(), target([{}], logs))).toContain('SHOAL_LOGS_DATABASE_URL must be the same')
  await t.app.database.pool.query('update squids set hasura_replicas = 1')
  expect(await refusalsOf(source(), target())).toContain('SHOAL_HASURA_IMAGE')
  await t.app.database.pool.query('update squids set hasura_replicas = 0')
  expect(await refusalsOf(source(), target())).toBe('')
})

test('a refusal names servers as the settings of the target do', async () => {
  const text = await refusalsOf(source(), target([{ name: 'large', maxDatabases: 0 }]))
  expect(text).toContain('"large" has no capacity')
  expect(text).not.toContain('to:')
})

test('refuses to copy from a server that the target lists under another name', async () => {
  const old = { name: 'old', cluster: t.app.database }
  expect(await refusalsOf(source(), target([{}, old]))).toContain(
    'would be copied from "main" to "main", and then dropped from "main", because the target lists this server, too, as "old"',
  )
  expect(await refusalsOf(source(), target([{ name: 'first' }]))).toBe('')
})

test('refuses a server that has connections for each database but not for all', async () => {
  await t.withWorker(() => d.deployAndWait({}, { name: 'two', slot: 'v1' }))
  const minimums = await t.app.database.pool.query<{ id: number; least: number }>(
    'select squid_id as id, min_connections as least from squid_databases',
  )
  await t.app.database.pool.query('update squid_databases set min_connections = 150')
  const text = await refusalsOf(source(), target())
  expect(text).toMatch(/^The 2 databases on "main" would need 304 connections, but it has 237 of 247 for squids\./)
  const stays = target([{ name: 'kept', cluster: t.app.database }])
  await t.app.database.pool.query('update squid_databases set min_connections = 1000')
  expect(await refusalsOf(source(), stays)).toBe('')
  for (const { id, least } of minimums.rows)
    await t.app.database.pool.query('update squid_databases set min_connections = $2 where squid_id = $1', [id, least])
  await t.withWorker(async () =>
    d.waitForEnd(await d.api.squids.delete({ params: { code: d.org.code, reference: 'two@v1' } })),
  )
})

test('refuses images that the target would not have, and names the versions', async () => {
  const processes = { SHOAL_RUNTIME: 'process' as const }
  const text = await refusalsOf(source(processes), target([{}], processes))
  expect(text).toContain('does not have the images of all versions')
  expect(text).toContain(`${d.org.code}/one@v1`)
  expect((await makePlan(source(processes), target([{}], processes), true)).refusals).toEqual([])
})

test('refuses while a deployment has not ended', async () => {
  const restart = await d.api.squids.restart({ params: { code: d.org.code, reference: 'one@v1' } })
  expect(await refusalsOf(source(), target())).toContain(`${d.org.code}/one@v1 (deployment ${restart.id})`)
  await t.withWorker(() => d.waitForEnd(restart))
  expect(await refusalsOf(source(), target())).toBe('')
})

test('a database whose server is the same in both settings stays there, under the new name of the server', async () => {
  const [from, to] = [source(), target([{ name: 'kept', cluster: t.app.database }])]
  const plan = await makePlan(from, to, false)
  expect(plan).toMatchObject({ refusals: [], databases: [{ to: 'kept', isCopied: false }] })
  const app = appOf(from, to)
  const move = { moveId: randomUUID(), databases: plan.databases, images: {}, stoppedAt: t.app.clock.now() }
  const silent = { step: () => {}, onBytes: () => {}, signal }
  const unchecked = { beforeReplace: () => Promise.resolve(), beforeDeparture: () => Promise.resolve() }
  const failing = () => Promise.reject(new Error('a server has started'))
  for (const checks of [{ beforeReplace: failing }, { beforeDeparture: failing }])
    await expect(copyInstallation(from, to, app, { ...move, ...silent, ...unchecked, ...checks })).rejects.toThrow(
      'a server has started',
    )
  const marks = (database: Database) => database.pool.query('select state from installation_move')
  expect([(await marks(t.app.database)).rows, (await marks(other)).rows]).toEqual([[], [{ state: 'copied' }]])
  const { details, databases } = await copyInstallation(from, to, app, { ...move, ...silent, ...unchecked })
  expect(databases).toBe(0)
  const finish = () => finishMove(from, to, app, { id: move.moveId, details }, () => {})
  expect(await finish()).toEqual({ versions: 1 })
  // The command may repeat the last step.
  expect(await finish()).toEqual({ versions: 0 })
  const { rows } = await other.pool.query(
    `select server, moving_to, type, failed, finished_at, sealed_workload from squid_databases join squids on id = squid_id
     join deployments on deployments.squid_id = squids.id order by deployments.id desc limit 1`,
  )
  expect(rows).toEqual([
    { server: 'kept', moving_to: null, type: 'RESTART', failed: 'NO', finished_at: null, sealed_workload: null },
  ])
  const login = `select bool_and(rolcanlogin) as open from pg_roles join squid_databases on role = rolname`
  expect((await t.app.database.pool.query(login)).rows).toEqual([{ open: true }])
})
