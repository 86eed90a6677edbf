import { afterEach, beforeEach, expect, test } from 'vitest'
import { archiveOf } from './testing/archive.ts'
import { squidFiles } from './testing/squid-files.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
beforeEach(async () => {
  t = await startDeployApp()
  d = await t.deployer()
})
afterEach(() => t?.close())

const requestDeploy = (artifactUrl: string) =>
  d.api.squids.deploy({
    params: { code: d.org.code },
    body: { artifactUrl, manifestPath: 'squid.yaml', options: { overrideName: 'test-squid', hardReset: false } },
  })

/** A reserve that exceeds the free space of any disk. */
const fullDisk = { SHOAL_DISK_RESERVE_PERCENT: 101 }
const almostFull = expect.objectContaining({
  status: 405,
  message: expect.stringContaining('almost full') as string,
}) as unknown

test('requests are refused while the disk is almost full, but repeated requests return their deployment', async () => {
  const fileUrl = await d.upload(archiveOf(squidFiles({})))
  const deployment = await requestDeploy(fileUrl)
  const other = await d.upload(archiveOf(squidFiles({ files: { 'other.txt': 'other' } })))
  Object.assign(t.app.config, fullDisk)
  await expect(d.upload(Buffer.from('x'))).rejects.toEqual(almostFull)
  await expect(requestDeploy(other)).rejects.toEqual(almostFull)
  expect(await requestDeploy(fileUrl)).toMatchObject({ id: deployment.id })
})

test('an api that neither stores archives nor builds on its disk accepts requests although its disk is almost full', async () => {
  const s3 = { bucket: 'archives', endpoint: null, region: 'us-east-1', credentials: null }
  Object.assign(t.app.config, fullDisk, { s3, SHOAL_ROLES: ['api'] })
  const deployment = await requestDeploy(await d.upload(archiveOf(squidFiles({}))))
  expect(deployment).toMatchObject({ failed: 'NO' })
  Object.assign(t.app.config, { SHOAL_ROLES: ['api', 'worker'] })
  await expect(d.upload(Buffer.from('x'))).rejects.toEqual(almostFull)
})

test('no transaction is open while the free space of the disk is read', async () => {
  const { pool } = t.app.database
  const connectionsInUse: number[] = []
  // Called whenever the disk is read. A transaction occupies a connection, so no connection may be in use.
  Object.defineProperty(t.app.config, 'SHOAL_DISK_RESERVE_PERCENT', {
    get: () => {
      connectionsInUse.push(pool.totalCount - pool.idleCount)
      return 1
    },
  })
  await requestDeploy(await d.upload(archiveOf(squidFiles({}))))
  expect(connectionsInUse).toEqual([0, 0, 0])
})

test('a deployment that was accepted before the disk became almost full fails with the cause, without unpacking or building', async () => {
  const deployment = await d.deploy()
  const worker = t.startWorker({ ...t.app, config: { ...t.app.config, ...fullDisk } })
  try {
    const ended = await d.waitForEnd(deployment)
    expect(ended.failed).toBe('UNEXPECTED')
    expect(ended.failureReason).toContain('The disk of this installation is almost full')
    expect(ended.logs.map(({ message }) => message).join()).not.toMatch(/Unpacked|Image/)
  } finally {
    await worker.close()
  }
})
