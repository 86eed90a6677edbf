import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../db/database.ts'
import { ownerConnection } from '../databases/index.ts'
import type { SquidPlan } from '../manifest/index.ts'
import { readAddons } from './addons.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let worker: { close: () => Promise<void> }
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp()
  worker = t.startWorker()
  d = await t.deployer()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

const squidParams = (slot: string, name = 'test-squid') => ({
  params: { code: d.org.code, reference: `${name}@${slot}` },
})
const runningContainers = async (squidId: number) =>
  (await t.runtime.observe())
    .filter((o) => o.workload.startsWith(`${squidId}.`))
    .map((o) => `${o.workload.split('.')[1]}/${o.container}`)
    .sort()

test('a first deployment runs every step and logs its address', async () => {
  const deployment = await d.deployAndWait({}, { slot: 'v1', tag: 'prod' })
  expect(deployment).toMatchObject({ type: 'DEPLOY', status: 'OK', failed: 'NO', options: { tag: 'prod' } })
  expect(deployment.steps.map((s) => s.status)).toEqual([
    'UNPACKING',
    'IMAGE_BUILDING',
    'ADDONS_SYNCING',
    'SQUID_SYNCING',
    'ADDING_INGRESS',
  ])
  expect(deployment.steps.every((s) => s.elapsedMs !== null)).toBe(true)
  const log = deployment.logs.map((l) => l.message)
  expect(log).toContain('Simulating a build: nothing is installed')
  expect(log.at(-1)).toBe(`GraphQL: http://localhost:4001/${d.org.code}/test-squid@v1/api/graphql`)
  const squid = await d.api.squids.get({ params: { code: d.org.code, reference: 'test-squid:prod' } })
  expect(squid).toMatchObject({ slot: 'v1', status: 'DEPLOYED', lastDeploy: { id: deployment.id, running: false } })
  expect(await runningContainers(squid.id)).toEqual(['1/api', '1/processor'])
})

test('a version is listed as soon as its deployment is requested', async () => {
  const deployment = await d.deploy({ build: { takesMs: 300 } }, { name: 'early' })
  expect(deployment.squid?.slot).toMatch(/^[a-z0-9]{6}$/)
  const [listed] = await d.api.squids.list({ params: { code: d.org.code }, query: { name: 'early' } })
  expect(listed).toMatchObject({ slot: deployment.squid?.slot, status: 'DEPLOYING', lastDeploy: { running: true } })
  expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
})

test('an update with unchanged content builds nothing and moves to a new generation', async () => {
  const first = await d.deployAndWait({}, { name: 'update', slot: 'v1' })
  const second = await d.deployAndWait({}, { name: 'update', slot: 'v1' })
  expect(second.squid?.id).toBe(first.squid?.id)
  expect(second.logs.map((l) => l.message)).not.toContain('Simulating a build: nothing is installed')
  expect(await runningContainers(first.squid?.id ?? 0)).toEqual(['2/api', '2/processor'])
})

test('`version: N` in the manifest selects slot vN when the request contains no slot', async () => {
  const deployment = await d.deployAndWait({ manifest: { version: 7 } }, { name: 'by-version' })
  expect(deployment.squid?.reference).toBe('by-version@v7')
  const taken = await d.waitForEnd(await d.deploy({ manifest: { version: 7 } }, { name: 'by-version' }))
  expect(taken).toMatchObject({ failed: 'REQUIREMENTS' })
  expect(taken.failureReason).toContain('requests slot v7')
})

test('restart starts a new generation with the current secrets', async () => {
  await d.api.secrets.change({
    params: { code: d.org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'key', value: 'one' }] },
  })
  const first = await d.deployAndWait({ env: { KEY: '${{ secrets.KEY }}' } }, { name: 'restarted', slot: 'v1' })
  const id = first.squid?.id ?? 0
  const firstContainer = () =>
    [...t.runtime.host.workloads.values()].find((w) => w.desired.version === String(id))?.desired.containers[0]
  expect(firstContainer()?.env['KEY']).toBe('one')
  await d.api.secrets.change({
    params: { code: d.org.code },
    body: { secrets: [{ action: 'UPDATE', name: 'KEY', value: 'two' }] },
  })
  const restart = await d.waitForEnd(await d.api.squids.restart(squidParams('v1', 'restarted')))
  expect(restart).toMatchObject({ type: 'RESTART', status: 'OK' })
  expect(firstContainer()?.env['KEY']).toBe('two')
  expect(await runningContainers(id)).toEqual(['2/api', '2/processor'])
})

test('hibernation stops all programs; a restart starts them again', async () => {
  const { squid } = await d.deployAndWait({}, { name: 'sleeper', slot: 'v1' })
  const hibernation = await d.waitForEnd(await d.api.squids.hibernate(squidParams('v1', 'sleeper')))
  expect(hibernation).toMatchObject({ type: 'HIBERNATE', status: 'OK' })
  expect(await runningContainers(squid?.id ?? 0)).toEqual([])
  expect(await d.api.squids.get(squidParams('v1', 'sleeper'))).toMatchObject({ status: 'HIBERNATED' })
  await expect(d.api.squids.hibernate(squidParams('v1', 'sleeper'))).rejects.toMatchObject({
    status: 405,
    message: 'It is already hibernated.',
  })
  await d.waitForEnd(await d.api.squids.restart(squidParams('v1', 'sleeper')))
  expect(await d.api.squids.get(squidParams('v1', 'sleeper'))).toMatchObject({ status: 'DEPLOYED', hibernatedAt: null })
  expect(await runningContainers(squid?.id ?? 0)).toEqual(['2/api', '2/processor'])
})

test('a tag can be moved from one slot to another, and removed', async () => {
  await d.deployAndWait({}, { name: 'tagged', slot: 'v1', tag: 'live' })
  await d.deployAndWait({}, { name: 'tagged', slot: 'v2' })
  const tag = { code: d.org.code, reference: 'tagged@v2', tag: 'live' }
  expect(await d.waitForEnd(await d.api.squids.setTag({ params: tag }))).toMatchObject({
    type: 'SET_TAG',
    status: 'OK',
  })
  const tagsOf = async (slot: string) => (await d.api.squids.get(squidParams(slot, 'tagged'))).tags.map((x) => x.name)
  expect([await tagsOf('v1'), await tagsOf('v2')]).toEqual([[], ['live']])
  const removed = await d.waitForEnd(await d.api.squids.removeTag({ params: { ...tag, reference: 'tagged:live' } }))
  expect(removed).toMatchObject({ type: 'REMOVE_TAG', status: 'OK', squid: { slot: 'v2' } })
  expect(await tagsOf('v2')).toEqual([])
})

test('a hard reset erases the database, an update keeps it', async () => {
  const { squid } = await d.deployAndWait({}, { name: 'reset', slot: 'v1' })
  const id = squid?.id ?? 0
  const url = () =>
    [...t.runtime.host.workloads.values()].find((w) => w.desired.version === String(id))?.desired.containers[0]?.env[
      'DB_URL'
    ]
  const query = async (text: string) => {
    const database = connect(url() ?? '')
    try {
      return (await database.pool.query<{ n: number }>(text)).rows
    } finally {
      await database.close()
    }
  }
  await query('create table rows as select 1 as n')
  await d.deployAndWait({}, { name: 'reset', slot: 'v1' })
  expect(await query('select n from rows')).toEqual([{ n: 1 }])
  const deployment = await d.deployAndWait({}, { name: 'reset', slot: 'v1', hardReset: true })
  expect(deployment).toMatchObject({ type: 'DEPLOY_HARD_RESET', options: { hardReset: true } })
  expect(deployment.steps.map((s) => s.status)).toContain('RESETTING')
  await expect(query('select n from rows')).rejects.toThrow('does not exist')
})

test('a rollback to the image that the version runs is a redeployment', async () => {
  const { id } = await d.deployAndWait({}, { name: 'again', slot: 'v1' })
  const params = squidParams('v1', 'again')
  const started = await d.api.squids.rollback({ ...params, body: { deploymentId: id } })
  expect(started.type).toBe('REDEPLOY')
  await expect(d.api.squids.rollback({ ...params, body: { deploymentId: id + 1000 } })).rejects.toThrow(
    `Deployment ${started.id} (REDEPLOY) is in progress`,
  )
  expect(await d.waitForEnd(started)).toMatchObject({ type: 'REDEPLOY', status: 'OK', failed: 'NO' })
  expect((await d.api.squids.get(params)).lastDeploy).toMatchObject({ id: started.id, type: 'REDEPLOY' })
  const [newest] = await d.api.deployments.list({ params: { code: d.org.code } })
  expect(newest).toMatchObject({ id: started.id, type: 'REDEPLOY' })
})

test('a rollback switches to a kept image', async () => {
  const name = 'back'
  const first = await d.deployAndWait({ build: { prints: ['one'] } }, { name, slot: 'v1' })
  const second = await d.deployAndWait({ build: { prints: ['two'] } }, { name, slot: 'v1' })
  const image = (id: number) =>
    d.api.deployments.get({ params: { code: d.org.code, id: String(id) } }).then((x) => x.image)
  expect(await image(first.id)).not.toBe(await image(second.id))
  const rollback = await d.waitForEnd(
    await d.api.squids.rollback({ ...squidParams('v1', name), body: { deploymentId: first.id } }),
  )
  expect(rollback).toMatchObject({ type: 'ROLLBACK', status: 'OK', image: await image(first.id) })
  expect(rollback.steps.map((s) => s.status)).not.toContain('IMAGE_BUILDING')
  expect((await d.api.squids.get(squidParams('v1', name))).packageJson).toMatchObject({ sim: { prints: ['one'] } })
  for (const prints of ['three', 'four', 'five'])
    await d.deployAndWait({ build: { prints: [prints] } }, { name, slot: 'v1' })
  expect(await image(first.id)).toBeNull()
  await expect(
    d.api.squids.rollback({ ...squidParams('v1', name), body: { deploymentId: first.id } }),
  ).rejects.toMatchObject({
    status: 405,
    message: expect.stringContaining('is no longer kept. You can roll back to:'),
  })
})

test('a deletion removes the containers and the database; the name and slot can be reused', async () => {
  const { squid } = await d.deployAndWait({}, { name: 'deleted', slot: 'v1', tag: 'x1' })
  const database = (await ownerConnection(t.app, squid?.id ?? 0))?.database
  const deletion = await d.waitForEnd(await d.api.squids.delete(squidParams('v1', 'deleted')))
  expect(deletion).toMatchObject({ type: 'DELETE', status: 'OK', squid: { reference: 'deleted@v1' } })
  expect(deletion.steps.map((s) => s.status)).toEqual(['SQUID_DELETING', 'ADDONS_DELETING', 'REMOVING_INGRESS'])
  expect(await runningContainers(squid?.id ?? 0)).toEqual([])
  await expect(d.api.squids.get(squidParams('v1', 'deleted'))).rejects.toMatchObject({ status: 404 })
  const databases = await t.app.databaseHosts
    .get('main')
    .cluster.pool.query('select 1 from pg_database where datname = $1', [database])
  expect(databases.rowCount).toBe(0)
  const again = await d.deployAndWait({}, { name: 'deleted', slot: 'v1' })
  expect(again.squid?.id).not.toBe(squid?.id)
})

test('a squid can be deployed without api, without init, without database, and with a processor that finishes', async () => {
  const shapes = [
    { api: null },
    { init: null },
    { hasPostgres: false, init: null },
    { processors: { one: {}, two: { ends: { afterMs: 50, exitCode: 0 } } } },
  ]
  for (const [index, shape] of shapes.entries()) {
    const target = { name: 'shape', slot: `v${index}` }
    const first = await d.deployAndWait(shape, target)
    expect((await d.deployAndWait(shape, target)).squid).toEqual(first.squid)
  }
})

test("the addon rpc provides the gateway's URL of each network, as a variable and in expressions", async () => {
  const { squid } = await d.deployAndWait(
    {
      addons: { rpc: ['eth.http', 'arbitrum-one.http'] },
      env: { MINE: '${{ addons.rpc.eth.http }}', DB_PASS: 'mine' },
    },
    { name: 'with-rpc', slot: 'v1' },
  )
  const workload = [...t.runtime.host.workloads.values()].find((w) => w.desired.version === String(squid?.id))
  for (const { env } of workload?.desired.containers ?? []) {
    expect(env['RPC_ETH_HTTP']).toMatch(/^http.*\/rpc\/eth\//)
    expect(env['RPC_ARBITRUM_ONE_HTTP']).toMatch(/\/rpc\/arbitrum-one\//)
    expect(env['MINE']).toBe(env['RPC_ETH_HTTP'])
    expect(env['DB_PASS']).not.toBe('mine')
  }
})

test('each rpc endpoint has the same URL as a variable and in expressions, regardless of its separators', async () => {
  const plan = { postgres: null, rpc: ['eth:http', 'arbitrum-one.http', 'my.chain.http'] } as unknown as SquidPlan
  const { addons, variables } = await readAddons(t.app, { id: 0, orgId: d.org.id }, plan)
  expect(Object.keys(variables)).toEqual(['RPC_ETH_HTTP', 'RPC_ARBITRUM_ONE_HTTP', 'RPC_MY_CHAIN_HTTP'])
  expect(Object.keys(addons.rpc ?? {})).toEqual(['eth', 'arbitrum-one', 'my.chain'])
  expect(Object.values(addons.rpc ?? {}).map(({ http }) => http)).toEqual(Object.values(variables))
})

test('lists of deployments are paged; only the list of one squid includes log lines', async () => {
  const code = d.org.code
  const [newest, ...others] = await d.api.deployments.list({ params: { code }, query: { limit: '3' } })
  expect(others).toHaveLength(2)
  expect(newest?.logs).toEqual([])
  const older = await d.api.deployments.list({ params: { code }, query: { limit: '1', before: String(others[1]?.id) } })
  expect(older[0]?.id).toBeLessThan(others[1]?.id ?? 0)
  const ofSquid = await d.api.deployments.list({ params: { code }, query: { squidId: String(newest?.squid?.id) } })
  expect(ofSquid.every((x) => x.squid?.id === newest?.squid?.id && x.logs.length > 0)).toBe(true)
  const squidId = String(newest?.squid?.id)
  const withoutLogs = await d.api.deployments.list({ params: { code }, query: { squidId, logs: 'false' } })
  expect(withoutLogs).toEqual(ofSquid.map((x) => ({ ...x, logs: [] })))
  expect(await d.api.deployments.list({ params: { code }, query: { statusGroup: 'IN_PROGRESS' } })).toEqual([])
})

test('a client can request only the log lines it does not have yet', async () => {
  const { id, plan, steps } = await d.deployAndWait({}, { name: 'with-lines', slot: 'v1' })
  expect(steps.map(({ status }) => status)).toEqual(plan)
  const get = (query = {}) => d.api.deployments.get({ params: { code: d.org.code, id: String(id) }, query })
  const { logs } = await get()
  expect(logs.length).toBeGreaterThan(3)
  expect((await get({ logsAfter: '2' })).logs).toEqual(logs.slice(2))
  expect((await get({ logsAfter: String(logs.length) })).logs).toEqual([])
  expect(logs.map(({ at }) => at)).toEqual(logs.map(({ at }) => at).toSorted())
})
