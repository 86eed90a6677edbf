import type { Deployment } from '@shoal/contract'
import { readdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { untilValue } from '../../testing/until.ts'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { minutes } from '../../clock.ts'
import { archiveOf } from './testing/archive.ts'
import { insertSquid, selectSquid } from '../versions/index.ts'
import { removeNeverDeployed } from './reconcile.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'
import { probeWhile } from './testing/probe-version.ts'
import { squidFiles, type TestSquid } from './testing/squid-files.ts'

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

const deployFailing = async (squid: TestSquid, options = {}): Promise<Deployment> => {
  const deployment = await d.waitForEnd(await d.deploy(squid, { name: 'failing', ...options }))
  expect(deployment.status).not.toBe('OK')
  // The reason is the last line of a complete log.
  expect(deployment.logs.at(-1)).toMatchObject({ severity: 'error', message: deployment.failureReason })
  return deployment
}

describe('the message of each kind of failure says what the user can do', () => {
  test.each([
    ['REQUIRED_SOURCE_FILE_INVALID', 'manifest', { manifest: { deploy: {} } }, '"deploy.processor" is required'],
    ['REQUIREMENTS', 'secrets', { env: { A: '${{ secrets.MISSING }}' } }, 'sqd secrets set MISSING <value> -o'],
    ['REQUIREMENTS', 'hasura', { addons: { hasura: {} } }, 'with the setting SHOAL_HASURA_PROGRAM'],
    ['REQUIREMENTS', 'neon', { addons: { neon: {} } }, 'does not offer the addon neon'],
    ['REQUIREMENTS', 'profile', { scale: { dedicated: false, processor: { profile: 'xlarge' } } }, 'dedicated'],
    [
      'SOURCE_FILES_BUILD_FAILED',
      'build',
      { build: { prints: ['error TS1'], fails: { kind: 'SOURCE_FILES_BUILD_FAILED' as const, message: 'Fix it.' } } },
      'Fix it.',
    ],
  ])('%s (%s)', async (kind, _, squid, reason) => {
    const deployment = await deployFailing(squid)
    expect(deployment.failed).toBe(kind)
    expect(deployment.failureReason).toContain(reason)
  })

  test('REQUIRED_SOURCE_FILE_MISSED names the manifest or package.json', async () => {
    const { 'package.json': _, ...files } = squidFiles()
    const deploy = async (archive: Buffer, manifestPath: string) =>
      d.waitForEnd(
        await d.api.squids.deploy({
          params: { code: d.org.code },
          body: { artifactUrl: await d.upload(archive), manifestPath, options: { overrideName: 'missing' } },
        }),
      )
    expect(await deploy(archiveOf(files), 'squid.yaml')).toMatchObject({
      failed: 'REQUIRED_SOURCE_FILE_MISSED',
      failureReason: expect.stringContaining('package.json'),
    })
    expect(await deploy(archiveOf(squidFiles()), 'other.yaml')).toMatchObject({
      failed: 'REQUIRED_SOURCE_FILE_MISSED',
      failureReason: expect.stringContaining('other.yaml'),
    })
    expect(await deploy(archiveOf(squidFiles()), '/srv/someone/project/squid.yaml')).toMatchObject({ status: 'OK' })
  })

  test('UNEXPECTED for an internal error, with the id of the deployment and without internal details', async () => {
    // No worker runs while the archive is replaced.
    await worker.close()
    const deployment = await d.deploy({ build: { prints: ['only here'] } }, { name: 'lost' })
    // The archive exists, but cannot be read: a link to itself.
    const uploads = join(t.app.config.dataDir, 'uploads')
    for (const name of await readdir(uploads)) {
      await rm(join(uploads, name))
      await symlink(name, join(uploads, name))
    }
    worker = t.startWorker()
    const ended = await d.waitForEnd(deployment)
    expect(ended.failed).toBe('UNEXPECTED')
    expect(ended.failureReason).toContain(`deployment ${deployment.id}`)
    expect(JSON.stringify(ended)).not.toContain('ELOOP')
  })

  test('PERMISSIONS for features that a playground does not have', async () => {
    const user = await t.make.user()
    const playground = await t.deployer({ id: 0, code: user.playground.code, name: '', admin: { ...user, roleId: 0 } })
    const dedicated = await playground.waitForEnd(await playground.deploy({ scale: { processor: {} } }, { slot: 'v1' }))
    expect(dedicated).toMatchObject({ failed: 'PERMISSIONS', failureReason: expect.stringContaining('collocated') })
    const scale = { dedicated: false, addons: { postgres: { storage: '20Gi' } } }
    const large = await playground.waitForEnd(await playground.deploy({ scale }, { slot: 'v1' }))
    expect(large).toMatchObject({ failed: 'PERMISSIONS', failureReason: expect.stringContaining('10Gi') })
    await playground.deployAndWait({ scale: { dedicated: false } }, { slot: 'v1' })
  })

  test.each<[string, TestSquid]>([
    [
      'before anything was created',
      { build: { fails: { kind: 'REQUIRED_SOURCE_FILE_MISSED', message: 'no lockfile' } } },
    ],
    ['when its database exists', { init: { ends: { afterMs: 5, exitCode: 1 } } }],
    ['when its programs have run', { api: { ends: { afterMs: 5, exitCode: 1 } } }],
  ])('a first deployment that fails %s leaves only the deployment and its log', async (_, squid) => {
    const { org } = d
    const deployment = await d.deploy(squid, { name: 'first', slot: 'v1', tag: 'prod' })
    const id = deployment.squid?.id ?? 0
    const ended = await d.waitForEnd(deployment)
    expect(ended).toMatchObject({ failed: expect.not.stringMatching('^NO$'), squid: { id, reference: 'first@v1' } })
    expect(ended.logs.at(-1)?.message).toBe(ended.failureReason)
    // The public client therefore treats the next deployment as a new version, and does not require --allow-update.
    const params = { code: org.code, reference: 'first@v1' }
    await expect(d.api.squids.get({ params })).rejects.toMatchObject({ status: 404 })
    const listed = await d.api.squids.list({ params: { code: org.code }, query: { name: 'first' } })
    expect(listed).toEqual([])
    const { rows } = await t.app.database.pool.query('select squid_id from squid_databases where squid_id = $1', [id])
    expect(rows).toEqual([])
    // Other tests have databases in the same Postgres.
    const { rows: databases } = await t.app.database.pool.query<{ datname: string }>(
      "select datname from pg_database join installation on datname = prefix || '_' || $1",
      [String(id)],
    )
    expect(databases).toEqual([])
    expect((await t.runtime.observe()).filter((o) => o.workload.startsWith(`${id}.`))).toEqual([])
    await d.deployAndWait({}, { name: 'first', slot: 'v1' })
    expect(await d.waitForEnd(await d.api.squids.delete({ params }))).toMatchObject({ status: 'OK' })
  })

  test('a failed version that could not be removed immediately is removed later, and its name can then be reused', async () => {
    const { id } = await insertSquid(t.app.db, { orgId: d.org.id, name: 'leftover', slot: 'v1' })
    await t.app.database.pool.query(
      `insert into deployments (org_id, squid_id, squid_name, squid_slot, type, status, failed, request_key, created_at, updated_at, finished_at)
       values ($1, $2, 'leftover', 'v1', 'DEPLOY', 'UNPACKING', 'REQUIREMENTS', 'leftover', now(), now(), now())`,
      [d.org.id, id],
    )
    await removeNeverDeployed(t.app)
    expect(await selectSquid(t.app.db, id)).toBeNull()
    await d.deployAndWait({}, { name: 'leftover', slot: 'v1' })
    await removeNeverDeployed(t.app)
    expect(await d.api.squids.get({ params: { code: d.org.code, reference: 'leftover@v1' } })).toMatchObject({
      status: 'DEPLOYED',
    })
  })

  test('an unsupported option that is not essential causes a warning only', async () => {
    const postgres = { version: '14', config: { max_locks_per_transaction: 1024 } }
    const { logs } = await d.deployAndWait({ addons: { postgres } }, { name: 'warned' })
    const warnings = logs.filter((l) => l.severity === 'warn').map((l) => l.message)
    expect(warnings).toEqual([
      expect.stringContaining('max_locks_per_transaction'),
      expect.stringContaining('requests Postgres 14'),
    ])
  })
})

describe('a broken update leaves the running version available', () => {
  const slot = { name: 'steady', slot: 'v1' }
  let squidId: number
  beforeAll(async () => {
    squidId = (await d.deployAndWait({}, slot)).squid?.id ?? 0
  })
  afterEach(async () => {
    const observations = (await t.runtime.observe()).filter((o) => o.workload.startsWith(`${squidId}.`))
    const [generation] = observations.map((o) => o.workload)
    // One complete generation runs, and nothing of the failed one.
    expect(observations.map((o) => o.container).sort()).toEqual(['api', 'processor'])
    expect(new Set(observations.map((o) => o.workload))).toEqual(new Set([generation]))
  })

  test.each<[string, TestSquid, string]>([
    ['build', { build: { fails: { kind: 'SOURCE_FILES_BUILD_FAILED', message: 'no' } } }, 'no'],
    [
      'migration',
      { init: { print: ['relation "x" exists'], ends: { afterMs: 20, exitCode: 1 } } },
      'init ended with exit code 1',
    ],
    ['init that cannot start', { init: { cannotStart: 'No such command: node' } }, 'No such command: node'],
    ['api that crashes', { api: { print: ['boom'], ends: { afterMs: 10, exitCode: 1 } } }, 'the last of 2 attempts'],
    [
      'api whose log is too long',
      { api: { print: ['boom'], ends: { afterMs: 10, exitCode: 153 } } },
      'wrote more to a file or to its log',
    ],
    ['api that ends', { api: { ends: { afterMs: 0, exitCode: 0 } } }, 'keep running'],
    [
      'processor that crashes',
      { processors: { processor: { print: ['boom'], ends: { afterMs: 10, exitCode: 2 } } } },
      'processor ended with exit code 2',
    ],
    [
      'processor that ends without an error although its chain has more blocks',
      { processors: { processor: { print: ['processing blocks from 0'], ends: { afterMs: 10, exitCode: 0 } } } },
      'processor ended with exit code 0 although its chain has more blocks, the last of 2 attempts',
    ],
    [
      'processor out of memory',
      { processors: { processor: { ends: { afterMs: 10, outOfMemory: true } } } },
      'more memory than its profile allows',
    ],
  ])('%s', async (_, squid, reason) => {
    const observed = await probeWhile(t, squidId, async () => {
      const { failureReason } = await deployFailing(squid, slot)
      expect(failureReason).toContain(reason)
    })
    expect(observed).toMatchObject({ failures: 0, maxWriters: 1 })
    expect(observed.responses).toBeGreaterThan(3)
  })

  test('the last lines of the failed program are in the log', async () => {
    const print = ['one', 'two', '\u001b[31mthree\u001b[0m']
    const { logs } = await deployFailing({ init: { print, ends: { afterMs: 5, exitCode: 9 } } }, slot)
    const lines = logs.map((l) => l.message)
    expect(lines).toEqual(expect.arrayContaining(['init | one', 'init | two', 'init | \u001b[31mthree\u001b[0m']))
  })

  test('an api that never responds fails after the timeout', async () => {
    const deployment = await d.deploy({ api: { startMs: 10 * 3_600_000 } }, slot)
    await untilValue(() => t.runtime.host.workloads.size > 1 && isObserved(squidId, 'api', 'starting'), Boolean)
    t.time.advance(minutes(6))
    expect((await d.waitForEnd(deployment)).failureReason).toBe('api: It is starting. Timed out after 5 minutes.')
  })

  test('a step that exceeds its deadline fails, and the message names the step', async () => {
    const deployment = await d.deploy({ build: { takesMs: 60_000 } }, slot)
    await untilValue(
      async () =>
        (await d.api.deployments.get(deploymentParams(deployment))).logs.some((l) =>
          l.message.startsWith('Simulating'),
        ),
      Boolean,
    )
    t.time.advance(minutes(36))
    expect(await d.waitForEnd(deployment)).toMatchObject({
      status: 'IMAGE_BUILDING',
      failed: 'REQUIREMENTS',
      failureReason: expect.stringContaining('Building the image took longer than its limit of 35 minutes'),
    })
  })

  test('a successful update causes no downtime', async () => {
    const observed = await probeWhile(t, squidId, async () => {
      await d.deployAndWait({ build: { prints: ['new'] } }, slot)
    })
    expect(observed).toMatchObject({ failures: 0, maxWriters: 1 })
  })
})

const deploymentParams = ({ id }: Deployment) => ({ params: { code: d.org.code, id: String(id) } })

const isObserved = async (squidId: number, container: string, state: string) =>
  (await t.runtime.observe()).some(
    (o) => o.workload.startsWith(`${squidId}.`) && o.container === container && o.state === state,
  )
