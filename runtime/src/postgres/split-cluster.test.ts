import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, chmodSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.ts'
import { needsSplit, splitCluster, splitSteps, type SplitStep } from './split-cluster.ts'

/** An installation of an earlier version, with one cluster: the control plane's database, and those of two squids. */
let folder: string
let port: number
const squids = ['sq_1', 'sq_2']

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-split-'))
  chmodSync(folder, 0o755)
  const postgres = await startEmbeddedPostgres({ dir: join(folder, 'original/postgres') })
  ;({ port } = postgres)
  try {
    await query(postgres.url('postgres'), 'create database shoal')
    await query(postgres.url('shoal'), 'create table users as select n from generate_series(1, 100) n')
    await query(postgres.url('postgres'), 'create role operator login')
    for (const name of squids) {
      await query(postgres.url('postgres'), `create role ${name} login password 'of-${name}' connection limit 7`)
      await query(postgres.url('postgres'), `create database ${name} owner ${name}`)
      await query(postgres.url(name), `create table rows as select n, md5(n::text) from generate_series(1, 50000) n`)
      await query(postgres.url(name), `alter table rows owner to ${name}; create index on rows (n)`)
    }
  } finally {
    await postgres.stop()
  }
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client(url)
  await client.connect()
  try {
    const result = await client.query<Record<string, unknown>>(text)
    return result.rows
  } finally {
    await client.end()
  }
}

const pathsOf = (name: string) => ({ from: join(folder, name, 'postgres'), to: join(folder, name, 'postgres-squids') })

function copyInstallation(name: string) {
  mkdirSync(join(folder, name), { mode: 0o755 })
  execFileSync('cp', ['-a', join(folder, 'original/postgres'), join(folder, name, 'postgres')])
  return pathsOf(name)
}

async function makePlan({ url }: { url: (database: string) => string }) {
  const databases = (await query(url('postgres'), 'select datname as name, oid::int as oid from pg_database')) as {
    name: string
    oid: number
  }[]
  return { databases, roles: ['shoal', 'operator', ...squids], moved: { databases: squids, roles: squids } }
}

/** Splits in a process that kills itself with SIGKILL when it reaches the step. */
function splitAndKill(name: string, step: SplitStep): void {
  const script = `
    import { splitCluster } from '${join(import.meta.dirname, 'split-cluster.ts')}'
    const plan = async () => (${JSON.stringify(splitPlan)})
    const onStep = (step) => step === '${step}' && process.kill(process.pid, 'SIGKILL')
    await splitCluster({ ...${JSON.stringify(pathsOf(name))}, plan, onStep, log: () => {} })`
  const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(signal, stderr).toBe('SIGKILL')
}
let splitPlan: Awaited<ReturnType<typeof makePlan>>

async function expectSplit(name: string): Promise<void> {
  const { from, to } = pathsOf(name)
  expect(needsSplit({ from, to })).toBe(false)
  expect(Number(readFileSync(join(to, 'port'), 'utf8'))).toBe(port)
  const running: EmbeddedPostgres[] = []
  try {
    for (const dir of [to, from]) running.push(await startEmbeddedPostgres({ dir }))
    const [squidCluster, controlPlane] = running
    const names = (rows: Record<string, unknown>[] = []) => rows.map((row) => row['name'])
    const databases = 'select datname as name from pg_database where not datistemplate order by 1'
    const logins = `select rolname as name from pg_roles where rolcanlogin order by 1`
    expect(names(await query(controlPlane?.url('postgres') ?? '', databases))).toEqual(['postgres', 'shoal'])
    expect(names(await query(controlPlane?.url('postgres') ?? '', logins))).toEqual(['operator', 'shoal'])
    expect(await query(controlPlane?.url('shoal') ?? '', 'select count(*)::int from users')).toEqual([{ count: 100 }])
    expect(names(await query(squidCluster?.url('postgres') ?? '', databases))).toEqual(['postgres', ...squids])
    expect(names(await query(squidCluster?.url('postgres') ?? '', logins))).toEqual(['shoal', ...squids])
    expect(controlPlane?.port).not.toBe(port)
    for (const squid of squids) {
      // Programs keep using the same address and password.
      const url = `postgres://${squid}:of-${squid}@127.0.0.1:${port}/${squid}`
      const sum = `select count(*)::int, sum(n)::int, count(*) filter (where md5 = md5(n::text))::int as same from rows where n > 0`
      expect(await query(url, sum)).toEqual([{ count: 50_000, sum: 1_250_025_000, same: 50_000 }])
      await query(url, 'insert into rows select n from generate_series(1, 1000) n')
    }
  } finally {
    await Promise.all(running.map((postgres) => postgres.stop()))
  }
}

test('a cluster is split into two without copying the databases of squids', async () => {
  const paths = copyInstallation('complete')
  expect(needsSplit(paths)).toBe(true)
  const messages: string[] = []
  await splitCluster({
    ...paths,
    log: (message) => messages.push(message),
    plan: async (postgres) => (splitPlan = await makePlan(postgres)),
  })
  expect(messages).toHaveLength(2)
  await expectSplit('complete')
})

/** `npm run test:full` tests all steps; otherwise one step of each phase: before the copy, during it, after its rename, at the end. */
const sampleSteps: SplitStep[] = ['stopped', 'copying', 'renamed', 'trimming-old']
const testedSteps = process.env['SHOAL_TEST_FULL'] === 'true' ? splitSteps : sampleSteps

test.each(testedSteps)('a split that is killed at the step %s is completed by the next call', async (step) => {
  copyInstallation(step)
  splitAndKill(step, step)
  const paths = pathsOf(step)
  await splitCluster({ ...paths, plan: makePlan, log: () => {} })
  await expectSplit(step)
  rmSync(join(folder, step), { recursive: true, force: true })
})

test('a cluster is unchanged if its plan is rejected', async () => {
  const paths = copyInstallation('rejected')
  const rejected = splitCluster({ ...paths, plan: () => Promise.reject(new Error('in use')), log: () => {} })
  await expect(rejected).rejects.toThrow('in use')
  expect(existsSync(join(paths.to, 'data'))).toBe(false)
  const postgres = await startEmbeddedPostgres({ dir: paths.from })
  try {
    expect(await query(postgres.url('sq_1'), 'select count(*)::int from rows')).toEqual([{ count: 50_000 }])
  } finally {
    await postgres.stop()
  }
})

test('a new installation is not split', () => {
  expect(needsSplit(pathsOf('none'))).toBe(false)
})
