import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeployApp, type DeployApp } from './testing/deploy-app.ts'

let t: DeployApp
let worker: { close: () => Promise<void> }
beforeAll(async () => {
  t = await startDeployApp()
})
afterAll(async () => {
  await worker?.close()
  await t?.close()
})

test('slow builds of all squids of one organization do not delay the deployments of another', async () => {
  const slow = await t.deployer()
  const other = await t.deployer()
  for (let i = 0; i < 40; i++) await slow.deploy({ build: { takesMs: 600_000 } }, { name: `slow-${i}`, slot: 'v1' })
  worker = t.startWorker()
  expect(await other.deployAndWait({}, { name: 'quick', slot: 'v1' })).toMatchObject({ status: 'OK', failed: 'NO' })
  const deployments = await slow.api.deployments.list({ params: { code: slow.org.code }, query: {} })
  expect(deployments.some(({ status }) => status === 'IMAGE_BUILDING')).toBe(true)
})
