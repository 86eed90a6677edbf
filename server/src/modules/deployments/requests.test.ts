import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { archiveOf } from './testing/archive.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { squidFiles } from './testing/squid-files.ts'

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

const squidParams = (reference: string) => ({ params: { code: d.org.code, reference } })
const slow = { build: { takesMs: 400 } }
const body = (artifactUrl: string, name: string, more = {}) => ({
  artifactUrl,
  options: { overrideName: name, overrideSlot: 'v1', ...more },
})

describe('a repeated request', () => {
  test('to deploy the same archive with the same options returns the same deployment, even after it has ended', async () => {
    const artifactUrl = await d.upload(archiveOf(squidFiles()))
    const deploy = (more = {}) =>
      d.api.squids.deploy({ params: { code: d.org.code }, body: body(artifactUrl, 'same', more) })
    const duplicates = await Promise.all([deploy(), deploy()])
    const [first] = duplicates
    expect(duplicates[1]?.id).toBe(first?.id)
    await d.waitForEnd(first)
    expect((await deploy()).id).toBe(first?.id)
    const reset = await deploy({ hardReset: true })
    expect(reset.id).not.toBe(first?.id)
    await d.waitForEnd(reset)
  })

  test('to restart returns the restart in progress; to delete returns the same deletion, even if it has just ended', async () => {
    await d.deployAndWait({}, { name: 'twice', slot: 'v1' })
    const restarts = await Promise.all([
      d.api.squids.restart(squidParams('twice@v1')),
      d.api.squids.restart(squidParams('twice@v1')),
    ])
    expect(restarts[0]?.id).toBe(restarts[1]?.id)
    await d.waitForEnd(restarts[0])
    const deletion = await d.waitForEnd(await d.api.squids.delete(squidParams('twice@v1')))
    expect((await d.api.squids.delete(squidParams('twice@v1'))).id).toBe(deletion.id)
    t.time.advance(minutes(2))
    await expect(d.api.squids.delete(squidParams('twice@v1'))).rejects.toMatchObject({ status: 404 })
  })

  test('to remove a tag that was just removed returns that deployment, unless the tag was set again', async () => {
    const tag = { params: { code: d.org.code, reference: 'tags@v1', tag: 'live' } }
    await d.deployAndWait({}, { name: 'tags', slot: 'v1', tag: 'live' })
    const removal = await d.waitForEnd(await d.api.squids.removeTag(tag))
    expect((await d.api.squids.removeTag(tag)).id).toBe(removal.id)
    await d.waitForEnd(await d.api.squids.setTag(tag))
    const again = await d.waitForEnd(await d.api.squids.removeTag(tag))
    expect(again.id).not.toBe(removal.id)
    t.time.advance(minutes(2))
    await expect(d.api.squids.removeTag(tag)).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining('no tag'),
    })
  })
})

test('a request during a deployment is rejected with a message that names the deployment', async () => {
  const running = await d.deploy(slow, { name: 'busy', slot: 'v1' })
  const refusal = {
    status: 405,
    message: `Deployment ${running.id} (DEPLOY) is in progress. Wait for it to finish.`,
  }
  await expect(d.deploy({}, { name: 'busy', slot: 'v1' })).rejects.toMatchObject(refusal)
  await expect(d.api.squids.restart(squidParams('busy@v1'))).rejects.toMatchObject(refusal)
  await expect(d.api.squids.delete(squidParams('busy@v1'))).rejects.toMatchObject(refusal)
  const tag = { params: { code: d.org.code, reference: 'busy@v1', tag: 'live' } }
  await expect(d.api.squids.setTag(tag)).rejects.toMatchObject(refusal)
  await expect(d.api.squids.removeTag(tag)).rejects.toMatchObject(refusal)
  const other = await d.deploy({}, { name: 'busy', slot: 'v2' })
  expect(await d.waitForEnd(other)).toMatchObject({ status: 'OK' })
  expect(await d.waitForEnd(running)).toMatchObject({ status: 'OK' })
})

describe('limits and permissions', () => {
  test.each([
    ['DRAFT', 'set up its billing'],
    ['IN_DEBT', 'update your card details'],
    ['TERMINATED', 'update your card details'],
  ] as const)('an organization with status %s may not deploy', async (status, reason) => {
    const other = await t.deployer(await t.make.org({ status }))
    await expect(other.deploy()).rejects.toMatchObject({ status: 405, message: expect.stringContaining(reason) })
    expect(await other.api.squids.list({ params: { code: other.org.code } })).toEqual([])
  })

  test('a playground is limited to one squid in one slot', async () => {
    const user = await t.make.user()
    const playground = await t.deployer({ id: 0, code: user.playground.code, name: '', admin: { ...user, roleId: 0 } })
    await playground.deployAndWait({}, { slot: 'v1' })
    await expect(playground.deploy({}, { slot: 'v2' })).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining('A playground runs one squid'),
    })
    await playground.deployAndWait({}, { slot: 'v1' })
  })

  test('concurrent requests cannot exceed the squid limit', async () => {
    const org = await t.make.org()
    await t.app.database.pool.query('update orgs set squids_limit = 2 where id = $1', [org.id])
    const limited = await t.deployer(org)
    const requests = await Promise.allSettled(['v1', 'v2', 'v3', 'v4'].map((slot) => limited.deploy({}, { slot })))
    const started = requests.filter((result) => result.status === 'fulfilled')
    expect(started).toHaveLength(2)
    for (const { value } of started) await limited.waitForEnd(value)
  })

  test('viewers can only read, and members of other organizations have no access', async () => {
    const deployment = await d.deployAndWait({}, { name: 'private', slot: 'v1' })
    const id = String(deployment.id)
    const viewer = t.as(await t.make.member(d.org, 'viewer'))
    expect(await viewer.deployments.get({ params: { code: d.org.code, id } })).toMatchObject({ id: deployment.id })
    await expect(viewer.squids.restart(squidParams('private@v1'))).rejects.toMatchObject({ status: 405 })
    await expect(viewer.deployments.createUpload({ params: { code: d.org.code } })).rejects.toMatchObject({
      status: 405,
    })
    const outsider = await t.deployer()
    await expect(outsider.api.squids.get(squidParams('private@v1'))).rejects.toMatchObject({ status: 404 })
    const code = outsider.org.code
    for (const attempt of [
      () => outsider.api.deployments.get({ params: { code, id } }),
      () => outsider.api.squids.get({ params: { code, reference: 'private@v1' } }),
      () => outsider.api.squids.restart({ params: { code, reference: 'private@v1' } }),
      () => outsider.api.squids.delete({ params: { code, reference: 'private@v1' } }),
    ])
      await expect(attempt()).rejects.toMatchObject({ status: 404 })
    const squidId = String(deployment.squid?.id)
    expect(await outsider.api.deployments.list({ params: { code }, query: { squidId } })).toEqual([])
    const artifactUrl = await d.upload(archiveOf(squidFiles()))
    await expect(
      outsider.api.squids.deploy({ params: { code }, body: body(artifactUrl, 'stolen') }),
    ).rejects.toMatchObject({
      status: 405,
      message: expect.stringContaining('was not received or has expired'),
    })
  })
})

describe('invalid input is rejected or cleaned', () => {
  test.each(['V1', '-a', 'a', 'toolong1', 'a b', '../x', 'v1;drop'])('slot %j', async (slot) => {
    await expect(d.deploy({}, { name: 'bad-slot', slot })).rejects.toMatchObject({ status: 400 })
  })
  test.each(['no@such', 'no:such', 'private', '@', 'a@b@c', "x'@v1", 'private@v1@v1', '..%2f@v1'])(
    'reference %j',
    async (reference) => {
      await expect(d.api.squids.restart(squidParams(reference))).rejects.toMatchObject({ status: 404 })
    },
  )
  test.each(['A', 'x', '-tag', 'a'.repeat(33)])('tag %j', async (tag) => {
    await expect(
      d.api.squids.setTag({ params: { code: d.org.code, reference: 'private@v1', tag } }),
    ).rejects.toMatchObject({ status: 400 })
  })
  test.each(['0', '-1', 'x', '99999999999999999999', '1.5'])('deployment %j', async (id) => {
    await expect(d.api.deployments.get({ params: { code: d.org.code, id } })).rejects.toMatchObject({ status: 404 })
  })
  test.each(['', 'shoal-upload:', 'shoal-upload:../../etc/passwd', 'http://169.254.169.254/', 'file:///etc/passwd'])(
    'artifact %j',
    async (artifactUrl) => {
      const call = d.api.squids.deploy({ params: { code: d.org.code }, body: body(artifactUrl, 'bad-url') })
      await expect(call).rejects.toMatchObject({ status: artifactUrl === '' ? 400 : 405 })
    },
  )
  test('a package.json and a manifest that Postgres could not store', async () => {
    const files = {
      'package.json': `{"name":"nul\\u0000 and half \\ud800","deep":${'['.repeat(300)}${']'.repeat(300)}}`,
    }
    await d.deployAndWait({ files }, { name: 'unstorable', slot: 'v1' })
    const nul = await d.waitForEnd(
      await d.deploy({ manifest: { description: 'a\0b' } }, { name: 'unstorable', slot: 'v1' }),
    )
    expect(nul).toMatchObject({ failed: 'NO' })
  })
  test('a file that is not an archive', async () => {
    const call = d.api.squids.deploy({
      params: { code: d.org.code },
      body: body(await d.upload(Buffer.from('not a gzip')), 'no-archive'),
    })
    expect(await d.waitForEnd(await call)).toMatchObject({ failed: 'REQUIRED_SOURCE_FILE_INVALID' })
  })
})
