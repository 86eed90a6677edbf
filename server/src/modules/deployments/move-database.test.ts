import { Client } from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { until } from '../../testing/until.ts'
import { isProcessor } from '../containers.ts'
import { dropOrphanedDatabases, ownerConnection, selectSquidDatabase } from '../databases/index.ts'
import { startSecondServer, type SecondServer } from '../databases/testing/second-server.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { listLogs } from './log-store.ts'
import { moveRequests } from './request-move.ts'
import { selectDeployment, type DeploymentRow } from './store.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { probeWhile } from './testing/probe-version.ts'

let t: DeployApp
let d: Deployer
let second: SecondServer
let worker: { close: () => Promise<void> }
let id: number
let name: string
let count = 0
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  second = await startSecondServer(250)
})
beforeEach(async () => {
  worker = t.startWorker()
  second.addTo(t.app, { second: { maxDatabases: 0 } })
  name = `moved-${++count}`
  await d.deployAndWait({}, { name, slot: 'v1', tag: 'live' })
  second.addTo(t.app)
  id = (await d.api.squids.get(reference())).id
})
afterEach(async () => {
  await second.proxy.start().catch(() => undefined)
  await worker.close()
})
afterAll(async () => {
  await second?.close()
  await t?.close()
})

const reference = () => ({ params: { code: d.org.code, reference: `${name}@v1` } })
const toSecond = { to: 'second', estimateMs: 1_000 }
const row = async () => await selectSquidDatabase(t.app.db, id)

async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new Client((await ownerConnection(t.app, id))?.url)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

async function start(): Promise<DeploymentRow> {
  const deployment = await moveRequests.start(t.app, id, toSecond)
  if (!deployment) throw new Error('No move began')
  return deployment
}

const linesOf = async ({ id: deployment }: DeploymentRow) =>
  (await listLogs(t.app.db, deployment)).map(({ message }) => message)
async function find({ orgId, id: deploymentId }: DeploymentRow): Promise<DeploymentRow> {
  const found = await selectDeployment(t.app.db, orgId, deploymentId)
  if (!found) throw new Error('The deployment does not exist')
  return found.deployment
}
/** Waits until the log of the deployment has a line that begins with `text`. */
async function untilLine(deployment: DeploymentRow, text: string): Promise<void> {
  for (;;) {
    const { finishedAt } = await find(deployment)
    const lines = await linesOf(deployment)
    if (lines.some((message) => message.startsWith(text))) return
    if (finishedAt) throw new Error(`The deployment ended without “${text}”: ${lines.join('\n')}`)
    await sleep(5)
  }
}
const hasDatabase = async (server: 'main' | 'second') => {
  const { cluster } = t.app.databaseHosts.get(server)
  return (
    (await cluster.pool.query('select from pg_database where datname = $1', [(await row())?.database])).rowCount === 1
  )
}
const runsProcessor = async () =>
  (await t.runtime.observe()).some(
    (o) => o.workload.startsWith(`${id}.`) && isProcessor({ name: o.container }) && o.state === 'running',
  )
const readDatabasePort = async () => {
  const squid = await selectSquid(t.app.db, id)
  return openWorkload(t.app.sealer, id, squid?.sealedWorkload ?? '').containers[0]?.env['DB_PORT']
}

async function expectOnSource(deployment: DeploymentRow, reason: string): Promise<void> {
  const ended = await d.waitForEnd({ id: deployment.id })
  expect(ended.failed).toBe('REQUIREMENTS')
  expect(ended.failureReason).toContain('The database was not moved and stays on "main".')
  expect(ended.failureReason).toContain(reason)
  expect(await row()).toMatchObject({ server: 'main', movingTo: null })
  await until(async () => expect(await runsProcessor()).toBe(true))
  expect(await readDatabasePort()).not.toBe(String(second.port))
  await query('insert into blocks values (-1)')
  await second.proxy.start().catch(() => undefined)
  await dropOrphanedDatabases(t.app)
  expect(await hasDatabase('second')).toBe(false)
}

test('a running version is moved: its api responds throughout, one processor runs at a time, and its data is kept', async () => {
  await query('create table blocks as select i as height from generate_series(1, 1000) i')
  const cost = await moveRequests.measure(t.app, id, 'second')
  expect(cost.processorDowntimeMs).toBeGreaterThan(0)
  let deployment: DeploymentRow | null = null
  const result = await probeWhile(t, id, async () => {
    deployment = await start()
    const ended = await d.waitForEnd({ id: deployment.id })
    expect(ended).toMatchObject({ type: 'RESTART', status: 'OK', failed: 'NO' })
  })
  expect(result).toMatchObject({ failures: 0, maxWriters: 1 })
  expect(await row()).toMatchObject({ server: 'second', movingTo: null })
  expect(await readDatabasePort()).toBe(String(second.port))
  expect(await query('select count(*)::int as n from blocks')).toEqual([{ n: 1000 }])
  expect(await hasDatabase('main')).toBe(false)
  const lines = deployment ? await linesOf(deployment) : []
  expect(lines).toContain(
    'Moving the database from "main" to "second". The processors stop for about 1.0 s; the api keeps responding.',
  )
  expect(lines.join('\n')).toMatch(/The copy is equal to the source: 1 tables with 1000 rows/)
  expect(lines.join('\n')).toMatch(/The database is on "second"\. No processor ran for [\d.]+ s\./)
  expect((await d.api.squids.get(reference())).tags.map((tag) => tag.name)).toContain('live')
  expect(await moveRequests.start(t.app, id, toSecond)).toBeNull()
  // Moves the database back.
  const back = await moveRequests.start(t.app, id, { to: 'main', estimateMs: null })
  await d.waitForEnd({ id: back?.id ?? 0 })
  expect(await query('select count(*)::int as n from blocks')).toEqual([{ n: 1000 }])
  expect(await row()).toMatchObject({ server: 'main' })
  expect(await hasDatabase('second')).toBe(false)
})

test('a second request follows the first, and the version can neither be deployed nor deleted during the move', async () => {
  await query('create table blocks as select i as height from generate_series(1, 300000) i')
  const deployment = await start()
  expect((await start()).id).toBe(deployment.id)
  await expect(moveRequests.start(t.app, id, { ...toSecond, to: 'main' })).rejects.toThrow('is in progress')
  await expect(d.api.squids.delete(reference())).rejects.toThrow()
  await expect(d.deploy({}, { name, slot: 'v1' })).rejects.toThrow()
  expect(await d.waitForEnd({ id: deployment.id })).toMatchObject({ failed: 'NO' })
  const deletion = await d.api.squids.delete(reference())
  await d.waitForEnd(deletion)
  expect(await row()).toBeNull()
})

test('if the target does not respond during the copy, the version runs on the source again', async () => {
  await query('create table blocks as select i as height from generate_series(1, 500000) i')
  const deployment = await start()
  await untilLine(deployment, 'Moving the database')
  await second.proxy.stop()
  await expectOnSource(deployment, '')
})

test('if the source could have been written to before the switch, the version runs on the source again', async () => {
  await query('create table blocks as select 1 as height')
  await worker.close()
  // The switch waits this long for the next generation, so that the lock is lost before the switch.
  worker = t.startWorker(t.app, { healthyForMs: 10_000 })
  const deployment = await start()
  await untilLine(deployment, 'The copy is equal')
  await t.app.database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'shoal move'`,
    [(await row())?.database],
  )
  await expectOnSource(deployment, '')
})

test('a database with an object that cannot be copied is not moved, and its processors are not stopped', async () => {
  await query('create table blocks (height int) partition by range (height)')
  await query('create table part partition of blocks default')
  const deployment = await start()
  await expectOnSource(deployment, 'objects that cannot be copied: partitioned table public.blocks')
  expect((await linesOf(deployment)).join('\n')).not.toContain('The processors stop')
})

test.each([
  { line: 'Moving the database', intervals: {}, server: 'main' },
  { line: 'The copy is equal', intervals: { healthyForMs: minutes(4) }, server: 'main' },
  { line: 'Starting the processors', intervals: { healthyForMs: minutes(4) }, server: 'main' },
  { line: 'Switched to the new generation', intervals: { drainMs: minutes(1) }, server: 'second' },
])('after the worker stopped at “$line”, another one moves the database once', async ({ line, intervals, server }) => {
  await query('create table blocks as select i as height from generate_series(1, 10000) i')
  await worker.close()
  worker = t.startWorker(t.app, intervals)
  const deployment = await start()
  await untilLine(deployment, line)
  await worker.close()
  expect(await row()).toMatchObject({ server })
  worker = t.startWorker()
  expect(await d.waitForEnd({ id: deployment.id })).toMatchObject({ failed: 'NO' })
  expect(await row()).toMatchObject({ server: 'second', movingTo: null })
  expect(await query('select count(*)::int as n, sum(height)::text as sum from blocks')).toEqual([
    { n: 10_000, sum: '50005000' },
  ])
  expect(await hasDatabase('main')).toBe(false)
  await until(async () => expect(await runsProcessor()).toBe(true))
  expect(await readDatabasePort()).toBe(String(second.port))
  expect((await find(deployment)).attempt).toBe(2)
})

test('a hibernated version is moved, stays hibernated, and starts with the copy', async () => {
  await query('create table blocks as select 1 as height')
  await d.waitForEnd(await d.api.squids.hibernate(reference()))
  const deployment = await start()
  expect(await d.waitForEnd({ id: deployment.id })).toMatchObject({ type: 'HIBERNATE', failed: 'NO' })
  expect(await row()).toMatchObject({ server: 'second' })
  expect(await runsProcessor()).toBe(false)
  expect(await hasDatabase('main')).toBe(false)
  expect(await d.waitForEnd(await d.api.squids.restart(reference()))).toMatchObject({ failed: 'NO' })
  expect(await readDatabasePort()).toBe(String(second.port))
  expect(await query('select * from blocks')).toEqual([{ height: 1 }])
})
