import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeployApp, type DeployApp } from './testing/deploy-app.ts'
import { installationMoves } from './installation-moves.ts'

let t: DeployApp
beforeAll(async () => {
  t = await startDeployApp()
})
afterAll(() => t?.close())

const enqueueRestarts = (id: string) =>
  t.app.db.transaction((tx) => installationMoves.enqueueRestarts(tx, t.app.clock.now(), { id, images: {} }))

test('a version whose restart after a move failed is restarted by the next move, unlike one after a failed hard reset', async () => {
  const d = await t.deployer()
  await t.withWorker(() => d.deployAndWait())
  const change = (what: string) =>
    t.app.database.pool.query(`update deployments set ${what} where id = (select max(id) from deployments)`)
  expect(await enqueueRestarts(randomUUID())).toBe(1)
  await change(`failed = 'UNEXPECTED', finished_at = now()`)
  expect(await installationMoves.listRunning(t.app.db)).toHaveLength(1)
  const second = randomUUID()
  expect(await enqueueRestarts(second)).toBe(1)
  expect(await installationMoves.countRestarts(t.app.db, second)).toEqual({ all: 1, unfinished: 1, failed: 0 })
  await change(`failed = 'UNEXPECTED', finished_at = now(), type = 'DEPLOY_HARD_RESET', request_key = 'reset'`)
  expect(await installationMoves.listRunning(t.app.db)).toEqual([])
  expect(await enqueueRestarts(randomUUID())).toBe(0)
})
