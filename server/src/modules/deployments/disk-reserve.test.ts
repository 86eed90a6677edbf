import { afterEach, beforeEach, expect, test } from 'vitest'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
beforeEach(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterEach(() => t?.close())

test('a deployment that was accepted before the disk became almost full fails with the cause, without unpacking or building', async () => {
  const deployment = await d.deploy()
  // No disk has so much free space.
  const worker = t.startWorker({ ...t.app, config: { ...t.app.config, SHOAL_DISK_RESERVE_PERCENT: 101 } })
  try {
    const ended = await d.waitForEnd(deployment)
    expect(ended.failed).toBe('UNEXPECTED')
    expect(ended.failureReason).toContain('The disk of this installation is almost full')
    expect(ended.logs.map(({ message }) => message).join()).not.toMatch(/Unpacked|Image/)
  } finally {
    await worker.close()
  }
})
