import { randomBytes } from 'node:crypto'
import { utimesSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ArtifactsUnavailable } from '../../artifacts/artifact-store.ts'
import { hours } from '../../clock.ts'
import { removeUnusedImages } from './unused-images.ts'
import { multipartOf } from './testing/archive.ts'
import { sendArchive, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { removeUnusedArchives } from './uploads.ts'

const limit = 100_000
let t: DeployApp
let d: Deployer
beforeAll(async () => {
  t = await startDeployApp({ env: { SHOAL_MAX_UPLOAD_BYTES: String(limit) } })
  d = await t.deployer()
})
afterAll(() => t?.close())

const stored = () => readdir(join(t.app.config.dataDir, 'uploads'))

const post = async (path: string, archive: Buffer, token = d.org.admin.token) => {
  const { payload, contentType } = multipartOf(archive)
  return await t.http.inject({
    method: 'POST',
    url: `/api/v1${path}`,
    headers: { authorization: `token ${token}`, 'content-type': contentType },
    payload,
  })
}

test('the upload URL is a path, and the same content is stored as one file', async () => {
  const upload = await d.api.deployments.createUpload({ params: { code: d.org.code } })
  expect(upload).toMatchObject({ uploadFields: {}, maxUploadBytes: limit })
  expect(upload.uploadUrl).toMatch(new RegExp(`^/orgs/${d.org.code}/uploads/[0-9a-f-]{36}$`))
  const content = randomBytes(5_000)
  await d.upload(content)
  await d.upload(content)
  expect(await stored()).toHaveLength(1)
})

test('an organization that may not deploy is rejected before it sends an archive', async () => {
  for (const [status, reason] of [
    ['DRAFT', 'is not active yet'],
    ['IN_DEBT', 'payment is overdue'],
  ] as const) {
    const { admin, code } = await t.make.org({ status })
    await expect(t.as(admin).deployments.createUpload({ params: { code } })).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining(reason) as string,
    })
  }
})

test('an archive that is too large is rejected with a message that the client prints, and leaves no file', async () => {
  const before = await stored()
  for (const size of [limit + 1, limit * 3]) {
    const { uploadUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
    const response = await post(uploadUrl, randomBytes(size))
    expect(response.statusCode).toBe(405)
    expect(response.json()).toMatchObject({ error: expect.stringContaining('larger than 0.1 MB') })
  }
  expect(await stored()).toEqual(before)
  await d.upload(randomBytes(limit))
})

test('uploads that wait for the archive store leave database connections for other calls', async () => {
  const { artifacts } = t.app
  // From several organizations, since each may send only a few archives at the same time.
  const orgs = await Promise.all(Array.from({ length: 5 }, () => t.make.org()))
  const createUpload = async ({ admin, code } = d.org) => {
    const { uploadUrl } = await t.as(admin).deployments.createUpload({ params: { code } })
    return { uploadUrl, token: admin.token }
  }
  const created = []
  for (const org of orgs) for (let count = 0; count < 5; count += 1) created.push(await createUpload(org))
  const store = Promise.withResolvers<void>()
  let received = 0
  const receive: typeof artifacts.receive = async (content) => {
    const artifact = await artifacts.receive(content)
    received += 1
    return { ...artifact, keep: () => store.promise.then(artifact.keep) }
  }
  t.app.artifacts = { ...artifacts, receive }
  try {
    const uploads = created.map(({ uploadUrl, token }) => post(uploadUrl, randomBytes(10), token))
    await expect.poll(() => received).toBe(created.length)
    await createUpload()
    store.resolve()
    expect((await Promise.all(uploads)).map(({ statusCode }) => statusCode)).toEqual(created.map(() => 201))
  } finally {
    store.resolve()
    t.app.artifacts = artifacts
  }
})

test('an upload that is repeated with other content does not keep the earlier archive', async () => {
  const before = await stored()
  const { uploadUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
  for (let sent = 0; sent < 3; sent += 1) expect((await post(uploadUrl, randomBytes(5_000))).statusCode).toBe(201)
  expect(await stored()).toHaveLength(before.length + 1)
})

test('an empty archive, an unknown upload and the upload of another organization are rejected', async () => {
  const { uploadUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
  expect((await post(uploadUrl, Buffer.alloc(0))).statusCode).toBe(405)
  for (const id of ['00000000-0000-0000-0000-000000000000', '..', 'x'])
    expect((await post(`/orgs/${d.org.code}/uploads/${encodeURIComponent(id)}`, Buffer.from('x'))).statusCode).toBe(404)
  const other = await t.make.org()
  const foreign = uploadUrl.replace(d.org.code, other.code)
  expect((await post(foreign, Buffer.from('x'), other.admin.token)).statusCode).toBe(404)
})

test('a deployment cannot use an upload that was never received', async () => {
  const { fileUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
  const body = { artifactUrl: fileUrl, options: { overrideName: 'nothing' } }
  await expect(d.api.squids.deploy({ params: { code: d.org.code }, body })).rejects.toMatchObject({ status: 405 })
})

test('archives that are unused for a day are removed, except those of deployments in progress', async () => {
  const deployment = await d.deploy({}, { name: 'waiting', slot: 'v1' })
  const shared = randomBytes(100)
  await d.upload(shared)
  t.time.advance(hours(25))
  await sendArchive(t, d.org.admin, d.org.code, shared)
  await removeUnusedArchives(t.app)
  // The archive of the deployment, and the one that was uploaded again.
  expect(await stored()).toHaveLength(2)
  const worker = t.startWorker()
  try {
    expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
  } finally {
    await worker.close()
  }
  t.time.advance(hours(25))
  await removeUnusedArchives(t.app)
  expect(await stored()).toEqual([])
})

test('images that no version runs or keeps are removed, except while a deployment of the organization is in progress', async () => {
  const worker = t.startWorker()
  try {
    const slot = { name: 'images', slot: 'v1' }
    await d.deployAndWait({ build: { prints: ['a'] } }, slot)
    const failing = { build: { prints: ['b'] }, init: { ends: { afterMs: 1, exitCode: 1 } } }
    expect(await d.waitForEnd(await d.deploy(failing, slot))).toMatchObject({ failed: 'REQUIREMENTS' })
    const images = async () => (await t.app.database.pool.query<{ image: string }>('select image from images')).rows
    const before = await images()
    const running = await d.deploy({ build: { takesMs: 500 } }, slot)
    await removeUnusedImages(t.app)
    expect(await images()).toEqual(expect.arrayContaining(before))
    await d.waitForEnd(running)
    await removeUnusedImages(t.app)
    const after = await images()
    expect(after).toHaveLength(before.length)
    expect(before.filter((b) => !t.builder.hasImage(b.image))).toHaveLength(1)
    expect(after.every((a) => t.builder.hasImage(a.image))).toBe(true)
    await d.waitForEnd(await d.api.squids.delete({ params: { code: d.org.code, reference: 'images@v1' } }))
    await removeUnusedImages(t.app)
    expect(await images()).toHaveLength(1)
  } finally {
    await worker.close()
  }
})

test('files left by killed servers are removed: archives without a row, and old partial files', async () => {
  const folder = join(t.app.config.dataDir, 'uploads')
  const deployment = await d.deploy({}, { name: 'in-progress', slot: 'v1' })
  const before = await stored()
  writeFileSync(join(folder, 'ab'.repeat(32)), 'renamed, and killed before the commit')
  writeFileSync(join(folder, 'old.part'), 'half')
  utimesSync(join(folder, 'old.part'), Date.now() / 1000 - 2 * 3600, Date.now() / 1000 - 2 * 3600)
  writeFileSync(join(folder, 'new.part'), 'being written')
  await removeUnusedArchives(t.app)
  expect((await stored()).sort()).toEqual([...before, 'new.part'].sort())
  const worker = t.startWorker()
  try {
    expect(await d.waitForEnd(deployment)).toMatchObject({ status: 'OK' })
  } finally {
    await worker.close()
  }
})

test('unused archives are removed even if removing the remains of interrupted uploads fails', async () => {
  const unused = 'cd'.repeat(32)
  writeFileSync(join(t.app.config.dataDir, 'uploads', unused), 'unused')
  const removeInterrupted = () => Promise.reject(new ArtifactsUnavailable('This is not allowed.'))
  const app = { ...t.app, artifacts: { ...t.app.artifacts, removeInterrupted } }
  await expect(removeUnusedArchives(app)).rejects.toThrow('This is not allowed.')
  expect(await stored()).not.toContain(unused)
})
