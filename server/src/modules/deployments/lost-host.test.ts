import { Client } from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { untilValue } from '../../testing/until.ts'
import { logins } from '../databases/index.ts'
import { openWorkload, selectSquidBySlot } from '../versions/index.ts'
import { startDeployApp, type DeployApp, type Deployer } from './testing/deploy-app.ts'

let t: DeployApp
let d: Deployer
let worker: { close: () => Promise<void> }
beforeEach(async () => {
  t = await startDeployApp({ ownsHost: false })
  d = await t.deployer()
  worker = t.startWorker()
})
afterEach(async () => {
  await worker?.close()
  await t?.close()
})

const env = { OWN_URL: '${{ addons.postgres.url }}' }

/** Returns the environments of the programs in the runtime, by container. */
function environments(workload: string): Record<string, Record<string, string>> {
  const containers = t.runtime.host.workloads.get(workload)?.desired.containers ?? []
  return Object.fromEntries(containers.map((container) => [container.name, container.env]))
}

async function canSignIn(url: string | undefined): Promise<boolean> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end()
  }
}

async function noticesOf(squidId: number | undefined): Promise<string[]> {
  const { rows } = await t.app.database.pool.query<{ text: string }>(
    "select container || ': ' || message as text from squid_notices where squid_id = $1 order by id",
    [squidId],
  )
  return rows.map(({ text }) => text)
}

const isLost = (workload: string, container: string) => t.runtime.host.lost.has(`${workload}/${container}`)

test('each processor has its own login, even in variables of the manifest; other programs use that of the owner', async () => {
  const { squid } = await d.deployAndWait({ env, processors: { one: {}, two: {} } }, { slot: 'v1' })
  const { api, one, two } = environments(`${squid?.id}.1`)
  expect(api?.['DB_USER']).toMatch(/^sq_\w+_\d+$/)
  for (const own of [one, two]) {
    expect(own?.['DB_USER']).toMatch(new RegExp(`^${api?.['DB_USER']}_l\\d+$`))
    expect(own?.['OWN_URL']).toBe(own?.['DB_URL'])
    expect(own?.['DB_NAME']).toBe(api?.['DB_NAME'])
    expect(await canSignIn(own?.['DB_URL'])).toBe(true)
  }
  expect(one?.['DB_USER']).not.toBe(two?.['DB_USER'])
  expect(api?.['OWN_URL']).toBe(api?.['DB_URL'])
})

test('a processor on a lost host is started on another host, after its login was closed', async () => {
  const { squid } = await d.deployAndWait({ env, processors: { one: {}, two: {} } }, { slot: 'v1' })
  const id = `${squid?.id}.1`
  const before = environments(id)
  t.runtime.loseHost(id, 'one')
  t.runtime.loseHost(id, 'api')
  await untilValue(() => !isLost(id, 'one'), Boolean)
  const after = environments(id)
  expect(after['one']?.['DB_USER']).not.toBe(before['one']?.['DB_USER'])
  expect(after['one']?.['OWN_URL']).toBe(after['one']?.['DB_URL'])
  expect(await canSignIn(before['one']?.['DB_URL'])).toBe(false)
  expect(await canSignIn(after['one']?.['DB_URL'])).toBe(true)
  expect(after['two']).toEqual(before['two'])
  // The cluster itself moves an api, which does not write.
  expect(isLost(id, 'api')).toBe(true)
  const row = await selectSquidBySlot(t.app.db, d.org.id, 'test-squid', 'v1')
  const stored = openWorkload(t.app.sealer, row?.id ?? 0, row?.sealedWorkload ?? '')
  expect(stored.containers.find(({ name }) => name === 'one')?.env).toEqual(after['one'])
  expect(await noticesOf(row?.id)).toEqual([
    expect.stringMatching(/^one: .* has not responded since \d\d:\d\d:\d\d UTC/),
  ])
  t.runtime.loseHost(id, 'one')
  await untilValue(() => !isLost(id, 'one'), Boolean)
  expect(await canSignIn(after['one']?.['DB_URL'])).toBe(false)
  expect(await noticesOf(row?.id)).toHaveLength(2)
})

test('a version whose processor is on a lost host can be deployed, hibernated and deleted', async () => {
  const params = { params: { code: d.org.code, reference: 'test-squid@v1' } }
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  const [first, second, third] = [1, 2, 3].map((generation) => `${squid?.id}.${generation}`) as [string, string, string]
  const old = environments(first)['processor']
  const lose = (id: string) => ['api', 'processor'].forEach((name) => t.runtime.loseHost(id, name))
  lose(first)
  await d.deployAndWait({}, { slot: 'v1' })
  expect(t.runtime.host.workloads.has(first)).toBe(false)
  expect(await canSignIn(old?.['DB_URL'])).toBe(false)
  const next = environments(second)['processor']
  expect(await canSignIn(next?.['DB_URL'])).toBe(true)
  lose(second)
  expect((await d.waitForEnd(await d.api.squids.hibernate(params))).failed).toBe('NO')
  expect(await canSignIn(next?.['DB_URL'])).toBe(false)
  await d.deployAndWait({}, { slot: 'v1' })
  lose(third)
  expect((await d.waitForEnd(await d.api.squids.delete(params))).failed).toBe('NO')
  expect(await t.runtime.observe()).toEqual([])
})

test('a failed deployment restores the previous processor with another login', async () => {
  const { squid } = await d.deployAndWait({}, { slot: 'v1' })
  const id = `${squid?.id}.1`
  const old = environments(id)['processor']
  t.runtime.loseHost(id, 'processor')
  const crashing = { processors: { processor: { ends: { exitCode: 1, afterMs: 10 } } } }
  const failed = await d.waitForEnd(await d.deploy(crashing, { slot: 'v1' }))
  expect(failed.failed).toBe('REQUIREMENTS')
  await untilValue(() => environments(id)['processor'] !== undefined, Boolean)
  const restored = environments(id)['processor']
  expect(await canSignIn(restored?.['DB_URL'])).toBe(true)
  expect(await canSignIn(old?.['DB_URL'])).toBe(false)
  const { rows } = await t.app.database.pool.query(
    'select workload, closed_at from squid_logins where closed_at is null',
  )
  expect(rows).toEqual([{ workload: id, closed_at: null }])
})

test('a processor without a database waits for its host, since it cannot be prevented from writing to other services', async () => {
  const { squid } = await d.deployAndWait({ hasPostgres: false }, { slot: 'v1' })
  const id = `${squid?.id}.1`
  t.runtime.loseHost(id, 'processor')
  const lostAt = t.time.now().getTime()
  await untilValue(() => t.time.now().getTime() > lostAt + 60_000, Boolean)
  expect(isLost(id, 'processor')).toBe(true)
  const [lost] = (await t.runtime.observe()).filter(({ container }) => container === 'processor')
  expect(lost).toMatchObject({ state: 'starting', reason: 'Its host does not respond' })
})

test('processors that no longer exist in the runtime are started with other logins', async () => {
  const { squid } = await d.deployAndWait({ processors: { one: {}, two: {} } }, { slot: 'v1' })
  const id = `${squid?.id}.1`
  const first = environments(id)
  // Simulates a cluster whose state was restored; the program may still run.
  t.runtime.host.workloads.get(id)?.containers.delete('one')
  await untilValue(() => environments(id)['one']?.['DB_USER'] !== first['one']?.['DB_USER'], Boolean)
  const second = environments(id)
  expect(await canSignIn(first['one']?.['DB_URL'])).toBe(false)
  expect(await canSignIn(second['one']?.['DB_URL'])).toBe(true)
  expect(second['two']).toEqual(first['two'])
  expect(await canSignIn(second['two']?.['DB_URL'])).toBe(true)

  t.runtime.host.workloads.delete(id)
  await untilValue(() => environments(id)['two'] !== undefined, Boolean)
  expect(await canSignIn(environments(id)['two']?.['DB_URL'])).toBe(true)
  for (const name of ['one', 'two']) expect(await canSignIn(second[name]?.['DB_URL'])).toBe(false)
})

test('a worker that starts after its cluster was restored closes the login of an earlier desired state', async () => {
  const { squid } = await d.deployAndWait({ processors: { one: {}, two: {} } }, { slot: 'v1' })
  const id = `${squid?.id}.1`
  const first = structuredClone(t.runtime.host.workloads.get(id)?.desired)
  if (!first) throw new Error('unreachable')
  t.runtime.host.workloads.get(id)?.containers.delete('one')
  await untilValue(
    () => environments(id)['one']?.['DB_USER'],
    (user) => user !== first.containers.find(({ name }) => name === 'one')?.env['DB_USER'],
  )
  const second = environments(id)
  await worker.close()
  // The restored cluster has the first desired state again, and the next worker has applied nothing to it yet.
  await t.runtime.apply(first)
  worker = t.startWorker()
  await untilValue(
    () => environments(id)['one']?.['DB_URL'] ?? '',
    (url) =>
      ![first.containers.find(({ name }) => name === 'one')?.env['DB_URL'], second['one']?.['DB_URL']].includes(url),
  )
  const third = environments(id)
  expect(await canSignIn(third['one']?.['DB_URL'])).toBe(true)
  // The program of the second desired state may still run, and must not write.
  expect(await canSignIn(second['one']?.['DB_URL'])).toBe(false)
  expect(third['two']).toEqual(second['two'])
})

test('where the Postgres does not allow logins, the log reports this, and a processor on a lost host waits', async () => {
  const areAllowed = vi.spyOn(logins, 'areAllowed').mockResolvedValue(false)
  const deployment = await d.deployAndWait({}, { slot: 'v1' }).finally(() => areAllowed.mockRestore())
  const id = `${deployment.squid?.id}.1`
  const { api, processor } = environments(id)
  expect(processor?.['DB_USER']).toBe(api?.['DB_USER'])
  const { rows } = await t.app.database.pool.query<{ text: string }>(
    'select to_jsonb(deployment_logs)::text as text from deployment_logs where deployment_id = $1',
    [deployment.id],
  )
  expect(rows.map(({ text }) => text).join()).toContain('does not allow a login for each processor')
  t.runtime.loseHost(id, 'processor')
  const lostAt = t.time.now().getTime()
  await untilValue(() => t.time.now().getTime() > lostAt + 60_000, Boolean)
  expect(isLost(id, 'processor')).toBe(true)
})
