import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startExternalPostgres, type ExternalPostgres } from '../../scripts/external-postgres.ts'
import { deploy, waitForDeployment } from '../support/deploy.ts'
import { seed } from '../support/kill-plan.ts'
import { hostEnvironment, processesIn, repositoryRoot, runCli } from '../support/shoal.ts'
import { totalTransfers } from '../support/squid.ts'
import { startTestCloud, type TestCloud } from '../support/test-cloud.ts'
import { isFull } from '../support/tier.ts'
import { until } from '../support/until.ts'

type Settings = Record<string, string>
type Moved = { moved: string; versions: number; stoppedSeconds: number; rows: number }

let cloud: TestCloud
let controlPlane: ExternalPostgres
let squidsPostgres: ExternalPostgres
/** The settings with the embedded and with the external Postgres. */
let embedded: Settings
let external: Settings
const folder = mkdtempSync(join(tmpdir(), 'shoal-move-'))
const targetFile = join(folder, 'target.env')

beforeAll(async () => {
  ;[cloud, controlPlane, squidsPostgres] = await Promise.all([
    startTestCloud({ env: { SHOAL_ON_EXIT: 'keep' } }),
    startExternalPostgres(),
    startExternalPostgres(),
  ])
  await cloud.setRpcUrl()
  expect(await waitForDeployment(cloud, await deploy(cloud, { slot: 'v1', tag: 'live' }))).toMatchObject({
    failed: 'NO',
  })
  expect(await waitForDeployment(cloud, await deploy(cloud, { slot: 'v2' }))).toMatchObject({ failed: 'NO' })
  const { id } = await cloud.api.squids.hibernate({ params: { code: cloud.org, reference: 'erc20-transfers@v2' } })
  expect(await waitForDeployment(cloud, id)).toMatchObject({ failed: 'NO' })
  await until(async () => (await totalTransfers(live())) === (await transfers()), 'all transfers are indexed')
  embedded = { ...cloud.shoal.settings }
  external = {
    ...embedded,
    DATABASE_URL: controlPlane.url('shoal'),
    SHOAL_SQUIDS_DATABASE_URL: `${squidsPostgres.url('postgres')}?shoal_name=outside`,
  }
})
afterAll(async () => {
  // With SHOAL_ON_EXIT=keep, programs would outlive the server.
  for (const slot of ['v1', 'v2'])
    await cloud?.api.squids
      .delete({ params: { code: cloud.org, reference: `erc20-transfers@${slot}` } })
      .then(({ id }) => waitForDeployment(cloud, id))
      .catch(() => undefined)
  try {
    await cloud?.end()
  } finally {
    await controlPlane?.stop()
    await squidsPostgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})

const transfers = () => cloud.devnet.chain.countTransfers()
const live = () => cloud.endpointOf('erc20-transfers:live')

function useTarget(settings: Settings): void {
  writeFileSync(
    targetFile,
    Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
}

/** Changes the settings with which the server starts next. */
function useSettings(settings: Settings): void {
  for (const name of Object.keys(cloud.shoal.settings)) delete cloud.shoal.settings[name]
  Object.assign(cloud.shoal.settings, settings)
}

/** Runs the command with the settings of the source. */
async function move<T = Moved>(from: Settings, to: Settings, ...flags: string[]): Promise<T> {
  useTarget(to)
  return await runCli<T>({ ...hostEnvironment(), ...from }, ['move-runtime', '--to', targetFile, ...flags])
}

/** Starts the command, and kills it when it prints a line that begins with `step`. */
async function killedAt(step: string, from: Settings, to: Settings): Promise<void> {
  useTarget(to)
  const child = spawn(process.execPath, ['server/src/cli.ts', 'move-runtime', '--to', targetFile], {
    cwd: repositoryRoot,
    env: { ...hostEnvironment(), ...from },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  let wasKilled = false
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString()
    if (wasKilled || !output.split('\n').some((line) => line.startsWith(step))) return
    wasKilled = true
    child.kill('SIGKILL')
  })
  await new Promise((done) => child.once('close', done))
  if (!wasKilled) throw new Error(`The command did not print “${step}”:\n${output}`)
}

/** What users see of the version, its organization and its history. */
async function view() {
  const { api, org } = cloud
  const params = { code: org, reference: 'erc20-transfers@v1' }
  const squid = await api.squids.get({ params })
  const [logs, secrets, members, deployments] = [
    await api.logs.history({ params, query: { limit: '10000' } }),
    await api.secrets.list({ params: { code: org } }),
    await api.user.get({}),
    await api.deployments.list({ params: { code: org }, query: {} }),
  ]
  return {
    tags: squid.tags,
    logs: logs.logs.length,
    secrets,
    user: members.email,
    deployments: deployments.map(({ id }) => id).toSorted((one, other) => one - other),
  }
}

/** Waits until the version that the tag names indexes a new transfer, and checks the number of all. */
async function requireIndexing(): Promise<void> {
  await cloud.devnet.chain.transfer(3)
  const all = await transfers()
  await until(async () => (await totalTransfers(live())) === all, `${all} transfers are indexed`)
}

const refusal = async (promise: Promise<unknown>): Promise<string> =>
  await promise.then(
    () => 'it succeeded',
    (error: unknown) => String((error as { stderr?: string }).stderr ?? error),
  )

test('a move is refused while a server runs, and a dry run measures the move and changes nothing', async () => {
  const summary = await move<Record<string, unknown>>(embedded, external, '--dry-run')
  expect(summary).toMatchObject({ databases: 2, runningVersions: 1, imagesToPush: 0 })
  // More than the assumed times for the start of the version and for its database, so the rates of the copies count.
  expect(summary['estimatedSeconds']).toBeGreaterThan(15 + 2 * 1 + 2)
  expect(await refusal(move(embedded, external))).toContain('Stop the other process first')
  await requireIndexing()
})

test('a target that lacks the keys, or is the source, is refused', async () => {
  await cloud.shoal.stop()
  const otherKeys = { ...external, SHOAL_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') }
  const text = await refusal(move(embedded, otherKeys))
  expect(text).toContain('The target does not have the keys')
  expect(text).not.toContain(otherKeys.SHOAL_SECRETS_KEY)
  expect(await refusal(move(embedded, embedded))).toContain('the same database of the control plane')
  expect(processesIn(cloud.shoal.dataDir)).not.toEqual([])
  await cloud.shoal.start()
  await requireIndexing()
})

/** The steps that a kill undoes: the source is not marked as moved yet. */
const undoneSteps = [
  'Stopping the programs',
  'Preparing the database',
  'Copying the database',
  'Copying the control plane',
]

/** One of them, or all in `npm run test:full`. */
const killedSteps = isFull ? undoneSteps : undoneSteps.slice(seed % undoneSteps.length).slice(0, 1)

test(`after kill -9 before the source is marked as moved, the installation continues with its previous settings (SHOAL_TEST_SEED=${seed})`, async () => {
  for (const step of killedSteps) {
    await cloud.shoal.stop()
    await killedAt(step, embedded, external)
    await cloud.shoal.start()
    await requireIndexing()
    expect((await view()).tags).not.toEqual([])
  }
})

test('after kill -9 in the last steps, no server starts with the old or new settings, and the same command completes the move', async () => {
  const before = await view()
  await cloud.shoal.stop()
  // Each attempt is killed, the second one while it completes the move that the first one began.
  for (const step of ['Closing the databases', 'Arriving']) {
    await killedAt(step, embedded, external)
    expect(await refusal(runCli({ ...hostEnvironment(), ...embedded }, ['org', 'list']))).toContain('was moved to')
    const atTarget = await refusal(runCli({ ...hostEnvironment(), ...external }, ['org', 'list']))
    if (step !== 'Arriving') expect(atTarget).toContain('has not ended')
  }
  expect(await move<Record<string, unknown>>(embedded, external, '--dry-run')).toHaveProperty('unfinished')
  expect(await move(embedded, external)).toHaveProperty('moved')
  expect(processesIn(cloud.shoal.dataDir)).toEqual([])
  await expect(cloud.shoal.start()).rejects.toThrow('was moved to the database')
  useSettings(external)
  await cloud.shoal.start()
  await requireIndexing()
  await until(() => cloud.shoal.output().includes('1 of 1 versions run again'), 'the log shows the end of the move')
  await requireSame(before)
})

test('the same command with exchanged settings moves the installation back, and closes the databases that the installation leaves', async () => {
  const before = await view()
  await cloud.shoal.stop()
  const moved = await move(external, embedded)
  expect(moved).toMatchObject({ versions: 1, databases: 2 })
  const client = new Client(squidsPostgres.url('postgres'))
  await client.connect()
  const { rows } = await client.query(
    `select rolname, rolcanlogin as open from pg_roles where rolname ~ '^sq_' and rolcanlogin`,
  )
  await client.end()
  expect(rows).toEqual([])
  useSettings(embedded)
  await cloud.shoal.start()
  await requireIndexing()
  await requireSame(before)
  const downtimeText = () =>
    cloud.shoal
      .output()
      .match(/versions run again, [\d.]+ s/g)
      ?.at(-1)
  await until(
    () => (cloud.shoal.output().match(/versions run again/g)?.length ?? 0) > 1,
    'the log shows the end of the move',
  )
  process.stderr.write(`${downtimeText()}; ${JSON.stringify(moved)}\n`)
  // The hibernated version has its database, too.
  const { id } = await cloud.api.squids.restart({ params: { code: cloud.org, reference: 'erc20-transfers@v2' } })
  expect(await waitForDeployment(cloud, id)).toMatchObject({ failed: 'NO' })
  const all = await transfers()
  await until(async () => (await totalTransfers(cloud.endpointOf('erc20-transfers@v2'))) === all, 'it indexes again')
})

/** Checks that nothing of what users saw before the move is missing. */
async function requireSame(before: Awaited<ReturnType<typeof view>>): Promise<void> {
  const after = await view()
  expect(after).toMatchObject({ tags: before.tags, secrets: before.secrets, user: before.user })
  expect(after.logs).toBeGreaterThanOrEqual(before.logs)
  expect(after.deployments).toEqual(expect.arrayContaining(before.deployments))
}
