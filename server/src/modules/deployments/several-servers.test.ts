import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { selectSquidDatabase } from '../databases/index.ts'
import { startSecondServer, type SecondServer } from '../databases/testing/second-server.ts'
import { openWorkload, selectSquid } from '../versions/index.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let second: SecondServer
let worker: { close: () => Promise<void> }
beforeAll(async () => {
  t = await startDeployApp()
  d = await t.deployer()
  second = await startSecondServer()
  second.addTo(t.app, { main: { maxDatabases: 1 }, second: { weight: 1000 } })
  worker = t.startWorker()
})
afterAll(async () => {
  await worker?.close()
  await second?.close()
  await t?.close()
})

async function versionOf(name: string) {
  const { id } = await d.api.squids.get({ params: { code: d.org.code, reference: `${name}@v1` } })
  return { id, row: await selectSquidDatabase(t.app.db, id) }
}

test('a version is deployed to the server with the most capacity, and its programs and users receive its address', async () => {
  await d.deployAndWait({}, { name: 'there', slot: 'v1' })
  const { id, row } = await versionOf('there')
  expect(row?.server).toBe('second')
  const squid = await selectSquid(t.app.db, id)
  const workload = openWorkload(t.app.sealer, id, squid?.sealedWorkload ?? '')
  expect(workload.containers[0]?.env['DB_PORT']).toBe(String(second.port))
  const shown = await d.api.squids.get({ params: { code: d.org.code, reference: 'there@v1' } })
  expect(JSON.stringify(shown.addons.postgres)).toContain(String(second.port))
})

test('while the server of its database is down, a deployment waits and logs this, and other versions are deployed', async () => {
  await second.proxy.stop()
  const waiting = await d.deploy({}, { name: 'there', slot: 'v1' })
  const read = () => d.api.deployments.get({ params: { code: d.org.code, id: String(waiting.id) } })
  const messages = async () => (await read()).logs.map(({ message }) => message)
  const line =
    'The Postgres server "second", which has the database of this version, does not respond. The deployment continues when it does.'
  while (!(await messages()).includes(line)) await sleep(20)
  // Longer than the deadline of any step.
  t.time.advance(minutes(180))
  await d.deployAndWait({}, { name: 'here', slot: 'v1' })
  expect((await versionOf('here')).row?.server).toBe('main')
  await second.proxy.start()
  expect(await d.waitForEnd(waiting)).toMatchObject({ status: 'OK', failed: 'NO' })
  expect(await messages()).toContain('The Postgres server responds again')
})

test('a deleted version is removed from its server', async () => {
  const { row } = await versionOf('there')
  const deletion = await d.api.squids.delete({ params: { code: d.org.code, reference: 'there@v1' } })
  await d.waitForEnd(deletion)
  const names = await second.cluster.pool.query('select 1 from pg_database where datname = $1', [row?.database])
  expect(names.rowCount).toBe(0)
})
