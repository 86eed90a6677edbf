import { afterEach, beforeEach, expect, test } from 'vitest'
import { recordGatewayHeartbeat, gatewaysBehind, saveGatewayRoutes } from './gateways-store.ts'
import { listLogs } from './log-store.ts'
import { fastIntervals, startDeployApp, type Deployer, type DeployApp } from './testing/deploy-app.ts'

let t: DeployApp
let deployer: Deployer
let worker: ReturnType<DeployApp['startWorker']>
beforeEach(async () => {
  t = await startDeployApp()
  worker = t.startWorker()
  deployer = await t.deployer()
})
afterEach(async () => {
  await worker.close()
  await t.close()
})

const v1 = { slot: 'v1' }

const tick = () => new Promise((done) => void setTimeout(done, 10))
const generations = async () =>
  [...new Set((await t.runtime.observe()).map((o) => String(o.workload.split('.')[1])))].sort()
const behind = (squidId: number, generation: number) =>
  gatewaysBehind(t.app.db, { squidId, generation, aliveWithinMs: 15_000 })
const squidIdOf = async (): Promise<number> => {
  const { rows } = await t.app.database.pool.query<{ id: string }>('select id from squids')
  return Number(rows[0]?.id)
}

test('an update stops the old generation only when the slowest gateway routes to the new one', async () => {
  await worker.close()
  // This test ends the wait.
  worker = t.startWorker(t.app, { gatewaysMs: 60_000 })
  await deployer.deployAndWait({}, v1)
  const squidId = await squidIdOf()
  for (const gateway of ['quick', 'slow']) await recordGatewayHeartbeat(t.app.db, gateway)
  await saveGatewayRoutes(t.app.db, 'quick', new Map([[squidId, 2]]))
  await saveGatewayRoutes(t.app.db, 'slow', new Map([[squidId, 1]]))
  expect(await behind(squidId, 2)).toEqual(['slow'])
  const heartbeat = setInterval(() => void recordGatewayHeartbeat(t.app.db, 'slow'), 100)
  const update = await deployer.deploy({}, v1)
  const { pool } = t.app.database
  const isSwitched = async () =>
    (await pool.query('select 1 from squids where id = $1 and generation = 2', [squidId])).rowCount === 1
  while (!(await isSwitched())) await tick()
  // Much longer than the delay for responses in flight.
  for (const endMs = performance.now() + 25 * fastIntervals.drainMs; performance.now() < endMs; await tick())
    expect(await generations()).toEqual(['1', '2'])
  await saveGatewayRoutes(t.app.db, 'slow', new Map([[squidId, 2]]))
  await deployer.waitForEnd(update)
  clearInterval(heartbeat)
  expect(await generations()).toEqual(['2'])
})

test('an update does not wait for a gateway without a recent heartbeat', async () => {
  await deployer.deployAndWait({}, v1)
  await recordGatewayHeartbeat(t.app.db, 'frozen')
  await t.app.database.pool.query("update gateways set seen_at = now() - interval '16 seconds'")
  expect(await behind(await squidIdOf(), 2)).toEqual([])
  await deployer.deployAndWait({}, v1)
  expect(await generations()).toEqual(['2'])
})

test('a live gateway that keeps its old route delays an update only until the timeout', async () => {
  await deployer.deployAndWait({}, v1)
  await recordGatewayHeartbeat(t.app.db, 'stuck')
  const heartbeat = setInterval(() => void recordGatewayHeartbeat(t.app.db, 'stuck'), 100)
  const { id } = await deployer.deployAndWait({}, v1)
  clearInterval(heartbeat)
  expect(JSON.stringify(await listLogs(t.app.db, id))).toContain('Some gateways do not route to the new programs yet')
  expect(await generations()).toEqual(['2'])
})
