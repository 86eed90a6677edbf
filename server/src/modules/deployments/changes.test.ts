import { afterAll, beforeAll, expect, test } from 'vitest'
import { compareFiles } from './changes.ts'
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

const changesOf = (id: number, against?: number) =>
  d.api.deployments.getChanges({
    params: { code: d.org.code, id: String(id) },
    query: against === undefined ? {} : { against: String(against) },
  })

test('a deployment is compared with the previous successful one, or with any other of the organization', async () => {
  const name = { name: 'compared', slot: 'v1' }
  const first = await d.deployAndWait({ files: { 'src/main.ts': 'one\n', 'src/old.ts': 'old' } }, name)
  const fails = { kind: 'SOURCE_FILES_BUILD_FAILED' as const, message: 'no' }
  const failed = await d.waitForEnd(await d.deploy({ build: { fails }, files: { 'src/main.ts': 'broken\n' } }, name))
  const second = await d.deployAndWait(
    { files: { 'src/main.ts': 'two\n', 'logo.png': '\u0000binary', '.env.production': 'PASSWORD=1' } },
    name,
  )

  expect((await changesOf(first.id)).against).toBeNull()
  expect(await changesOf(second.id)).toEqual({
    against: first.id,
    files: [
      { path: '.env.production', before: null, after: { bytes: 10, text: null } },
      { path: 'logo.png', before: null, after: { bytes: 7, text: null } },
      { path: 'src/main.ts', before: { bytes: 4, text: 'one\n' }, after: { bytes: 4, text: 'two\n' } },
      { path: 'src/old.ts', before: { bytes: 3, text: 'old' }, after: null },
    ],
    unchanged: 3,
    isComplete: true,
  })
  const withFailed = await changesOf(second.id, failed.id)
  expect(withFailed.against).toBe(failed.id)
  expect(withFailed.files.map(({ path }) => path)).toContain('package.json')

  // A rollback runs the files of the deployment that it restores.
  const reference = { params: { code: d.org.code, reference: 'compared@v1' } }
  const rollback = await d.waitForEnd(await d.api.squids.rollback({ ...reference, body: { deploymentId: first.id } }))
  expect((await changesOf(rollback.id, first.id)).files).toEqual([])
  expect((await changesOf(rollback.id)).against).toBe(second.id)
})

test('deployments of other organizations, and those without files, are not found; viewers may not read code', async () => {
  const own = await d.deployAndWait({}, { name: 'own-one', slot: 'v1' })
  const other = await t.deployer()
  const theirs = await other.deployAndWait({}, { name: 'their-one', slot: 'v1' })
  await expect(changesOf(theirs.id)).rejects.toMatchObject({ status: 404 })
  await expect(changesOf(own.id, theirs.id)).rejects.toMatchObject({ status: 404 })
  const restart = await d.waitForEnd(
    await d.api.squids.restart({ params: { code: d.org.code, reference: 'own-one@v1' } }),
  )
  await expect(changesOf(restart.id)).rejects.toMatchObject({ status: 404 })
  const viewer = t.as(await t.make.member(d.org, 'viewer'))
  await expect(
    viewer.deployments.getChanges({ params: { code: d.org.code, id: String(own.id) }, query: {} }),
  ).rejects.toMatchObject({ status: 405 })
})

test('files with equal hashes count as unchanged', () => {
  const file = (path: string, sha256: string) => ({ path, sha256, bytes: 1, text: null })
  const before = { files: [file('a', '1'), file('b', '1')], isComplete: true }
  const after = { files: [file('b', '1'), file('c', '1'), file('a', '2')], isComplete: false }
  const side = { bytes: 1, text: null }
  expect(compareFiles(before, after)).toEqual({
    files: [
      { path: 'a', before: side, after: side },
      { path: 'c', before: null, after: side },
    ],
    unchanged: 1,
    isComplete: false,
  })
})
