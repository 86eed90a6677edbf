import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasS3Server, startS3Server, type S3Server } from '../../../../scripts/s3-server.ts'
import { hours } from '../../clock.ts'
import { multipartOf } from './testing/archive.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { removeUnusedArchives } from './uploads.ts'

test('a deployment whose archive no longer exists fails with a message to deploy again', async () => {
  const t = await startDeployApp()
  try {
    const d = await t.deployer()
    const deployment = await d.deploy()
    rmSync(join(t.app.config.dataDir, 'uploads'), { recursive: true })
    const ended = await t.withWorker(() => d.waitForEnd(deployment))
    expect(ended).toMatchObject({
      failed: 'REQUIRED_SOURCE_FILE_MISSED',
      failureReason: 'The archive no longer exists. Please deploy again.',
    })
  } finally {
    await t.close()
  }
})

describe.skipIf(!hasS3Server())('archives in S3', () => {
  let server: S3Server
  let t: DeployApp
  let d: Deployer
  const logged: string[] = []
  beforeAll(async () => {
    server = await startS3Server()
    t = await startDeployApp({
      env: server.settings,
      log: pino({ level: 'debug' }, { write: (line) => logged.push(line) }),
    })
    d = await t.deployer()
  })
  afterAll(async () => {
    await t?.close()
    await server?.end()
  })

  const upload = async (content: Buffer) => {
    const { uploadUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
    const { payload, contentType } = multipartOf(content)
    const headers = { authorization: `token ${d.org.admin.token}`, 'content-type': contentType }
    return await t.http.inject({ method: 'POST', url: `/api/v1${uploadUrl}`, headers, payload })
  }

  test('a squid deploys, no archive is in the data directory, and unused archives are removed after a day', async () => {
    expect(await t.withWorker(() => d.deployAndWait())).toMatchObject({ status: 'OK' })
    expect(readdirSync(t.app.config.dataDir)).not.toContain('uploads')
    expect(await t.app.artifacts.list()).toHaveLength(1)
    await removeUnusedArchives(t.app)
    expect(await t.app.artifacts.list()).toHaveLength(1)
    t.time.advance(hours(25))
    await removeUnusedArchives(t.app)
    expect(await t.app.artifacts.list()).toEqual([])
  })

  test('while S3 is unavailable, an upload returns 503, a deployment waits, and both succeed afterwards', async () => {
    const deployment = await d.deploy({}, { name: 'outage', slot: 'v1' })
    await server.stop()
    const worker = t.startWorker()
    try {
      const response = await upload(randomBytes(1000))
      expect(response.statusCode).toBe(503)
      expect(response.json()).toMatchObject({ error: expect.stringContaining('Please try again') as string })
      expect(response.body).not.toContain('127.0.0.1')
      await expect
        .poll(async () => {
          const { logs } = await d.api.deployments.get({ params: { code: d.org.code, id: String(deployment.id) } })
          return JSON.stringify(logs)
        })
        .toContain('The archive cannot be read at the moment')
      await server.start()
      expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK', failed: 'NO' })
    } finally {
      await worker.close()
    }
    expect((await upload(randomBytes(1000))).statusCode).toBe(201)
    const log = logged.join('')
    expect(log).toContain(`The S3 bucket ${server.settings.SHOAL_S3_BUCKET} at`)
    expect(log).not.toContain(server.settings.SHOAL_S3_ACCESS_KEY)
    expect(log).not.toContain(server.settings.SHOAL_S3_SECRET_KEY)
  })
})
