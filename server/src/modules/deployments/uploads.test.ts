import { randomBytes } from 'node:crypto'
import { utimesSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours } from '../../clock.ts'
import { collectImages } from './collect.ts'
import { multipartOf } from './testing/archive.ts'
import { sendArchive, startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { collectUploads } from './uploads.ts'

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
  await d.send(content)
  await d.send(content)
  expect(await stored()).toHaveLength(1)
})

test('an organization that cannot deploy is refused before its archive is sent, not after', async () => {
  for (const [status, words] of [
    ['DRAFT', 'is not active yet'],
    ['IN_DEBT', 'payment is overdue'],
  ] as const) {
    const { admin, code } = await t.make.org({ status })
    await expect(t.as(admin).deployments.createUpload({ params: { code } })).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining(words) as string,
    })
  }
})

test('a too large archive is refused with a message the client prints, and leaves no file', async () => {
  const before = await stored()
  for (const size of [limit + 1, limit * 3]) {
    const { uploadUrl } = await d.api.deployments.createUpload({ params: { code: d.org.code } })
    const response = await post(uploadUrl, randomBytes(size))
    expect(response.statusCode).toBe(405)
    expect(response.json()).toMatchObject({ error: expect.stringContaining('larger than 0.1 MB') })
  }
  expect(await stored()).toEqual(before)
  await d.send(randomBytes(limit))
})

test('an empty archive, an unknown upload and the upload of another organization are refused', async () => {
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

test('archives unused for a day are removed, those of deployments in progress are not', async () => {
  const kept = await d.deploy({}, { name: 'waiting', slot: 'v1' })
  const shared = randomBytes(100)
  await d.send(shared)
  t.time.advance(hours(25))
  await sendArchive(t, d.org.admin, d.org.code, shared)
  await collectUploads(t.app)
  // That of the deployment, and the one uploaded again since.
  expect(await stored()).toHaveLength(2)
  const worker = t.work()
  try {
    expect(await d.ended(kept)).toMatchObject({ status: 'OK' })
  } finally {
    await worker.close()
  }
  t.time.advance(hours(25))
  await collectUploads(t.app)
  expect(await stored()).toEqual([])
})

test('images that no version runs or keeps are removed, but not while the organization deploys', async () => {
  const worker = t.work()
  try {
    const slot = { name: 'images', slot: 'v1' }
    await d.deployed({ build: { prints: ['a'] } }, slot)
    const failing = { build: { prints: ['b'] }, init: { ends: { afterMs: 1, exitCode: 1 } } }
    expect(await d.ended(await d.deploy(failing, slot))).toMatchObject({ failed: 'REQUIREMENTS' })
    const images = async () => (await t.app.database.pool.query<{ image: string }>('select image from images')).rows
    const before = await images()
    const running = await d.deploy({ build: { takesMs: 500 } }, slot)
    await collectImages(t.app)
    expect(await images()).toEqual(expect.arrayContaining(before))
    await d.ended(running)
    await collectImages(t.app)
    const after = await images()
    expect(after).toHaveLength(before.length)
    expect(before.filter((b) => !t.builder.hasImage(b.image))).toHaveLength(1)
    expect(after.every((a) => t.builder.hasImage(a.image))).toBe(true)
    await d.ended(await d.api.squids.delete({ params: { code: d.org.code, reference: 'images@v1' } }))
    await collectImages(t.app)
    expect(await images()).toHaveLength(1)
  } finally {
    await worker.close()
  }
})

test('files of killed servers are removed: archives without a row, and abandoned partial files', async () => {
  const folder = join(t.app.config.dataDir, 'uploads')
  const kept = await d.deploy({}, { name: 'left', slot: 'v1' })
  const before = await stored()
  writeFileSync(join(folder, 'ab'.repeat(32)), 'renamed, and killed before the commit')
  writeFileSync(join(folder, 'old.part'), 'half')
  utimesSync(join(folder, 'old.part'), Date.now() / 1000 - 2 * 3600, Date.now() / 1000 - 2 * 3600)
  writeFileSync(join(folder, 'new.part'), 'being written')
  await collectUploads(t.app)
  expect((await stored()).sort()).toEqual([...before, 'new.part'].sort())
  const worker = t.work()
  try {
    expect(await d.ended(kept)).toMatchObject({ status: 'OK' })
  } finally {
    await worker.close()
  }
})
