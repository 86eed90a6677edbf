import { mkdirSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { days, hours, minutes } from '../../clock.ts'
import { recordStatement, slowStatements } from '../../db/slow-statements.ts'
import { measured } from '../../health/loops.ts'
import { lastBackupFile } from '../../health/readiness.ts'
import { readReport, startHeartbeat } from '../../installation/heartbeat.ts'
import { replicaName } from '../../installation/replica-name.ts'
import { listOrgs, listSquids, status } from '../../cli/lists.ts'
import { startTestApp, type TestApp, type TestUser } from '../../testing/index.ts'
import { until } from '../../testing/until.ts'
import type { CliOptions } from '../../cli/commands.ts'
import { waitsFor } from './unfinished.ts'

let t: TestApp
let operator: TestUser
beforeAll(async () => {
  t = await startTestApp()
  operator = await t.make.operator()
})
afterAll(() => t?.close())

const overview = () => t.as(operator).operators.getOverview({})
const findings = async (subject: string) => (await overview()).findings.filter((finding) => finding.subject === subject)
const query = (text: string, values: unknown[] = []) => t.app.database.pool.query(text, values)

test('a process is listed with its roles and loops while it runs, and reported when its heartbeats stop', async () => {
  expect((await overview()).replicas).toEqual([])
  const heartbeat = startHeartbeat(t.app, minutes(60))
  await heartbeat.beat()
  await measured(t.app, 'quick', 1_000, async () => {})()
  // `startHeartbeat` writes the first heartbeat, possibly after a later one.
  const replica = await until(async () => {
    await heartbeat.beat()
    const [found] = (await overview()).replicas
    expect(found?.loops.map(({ name }) => name)).toEqual(['heartbeat', 'quick'])
    return found
  })
  expect(replica).toMatchObject({ roles: t.app.config.SHOAL_ROLES, isAlive: true, problems: [] })
  expect(replica?.disk?.size).toBeGreaterThan(0)
  expect(await findings(replica?.name ?? '')).toEqual([])
  await query(`update replicas set seen_at = now() - interval '5 minutes'`)
  expect((await overview()).replicas[0]?.isAlive).toBe(false)
  expect(await findings(replica?.name ?? '')).toMatchObject([
    { severity: 'warn', since: (await overview()).replicas[0]?.seenAt },
  ])
  await heartbeat.close()
  expect((await overview()).replicas).toEqual([])
})

test('a process that replaces a killed one also replaces its row', async () => {
  await query(
    `insert into replicas values (gen_random_uuid(), $1, $2, now() - interval '2 hours', now() - interval '5 minutes')`,
    [replicaName.replace(/\/.*/, '/1'), JSON.stringify(await readReport(t.app))],
  )
  const heartbeat = startHeartbeat(t.app, minutes(60))
  await heartbeat.beat()
  await heartbeat.beat()
  expect((await overview()).replicas.map(({ name }) => name)).toEqual([replicaName])
  await heartbeat.close()
})

test('a loop whose rounds fail or stop is reported', async () => {
  const heartbeat = startHeartbeat(t.app, minutes(60))
  const round = measured(t.app, 'failing', 1_000, () => Promise.reject(new Error('no disk')))
  for (let i = 0; i < 3; i++) await expect(round()).rejects.toThrow('no disk')
  await heartbeat.beat()
  const findingsOfLoop = async () => (await findings('loops')).filter(({ text }) => text.includes('"failing"'))
  expect(await findingsOfLoop()).toMatchObject([
    { severity: 'bad', text: 'The last 3 rounds of "failing" failed: no disk' },
  ])
  t.clock.advance(minutes(10))
  expect((await findingsOfLoop())[0]?.text).toBe('A round of "failing" is overdue')
  await heartbeat.close()
})

test('the age of the last backup and certificates that expire are reported', async () => {
  const heartbeat = startHeartbeat(t.app, minutes(60))
  await heartbeat.beat()
  const isExternal = t.app.config.DATABASE_URL !== undefined
  expect((await findings('backup')).length).toBe(isExternal ? 0 : 1)
  mkdirSync(t.app.config.dataDir, { recursive: true })
  const at = new Date(t.clock.now().getTime() - hours(30)).toISOString()
  writeFileSync(lastBackupFile(t.app.config.dataDir), JSON.stringify({ at }))
  await heartbeat.beat()
  expect((await overview()).backup).toEqual({ at, isExternal })
  const inDays = (count: number) => new Date(t.clock.now().getTime() + days(count))
  await query(
    `insert into certificates (name, is_own, not_after, failures, last_error, next_order_at)
     values ('ended.example.com', true, $1, 2, 'refused', $1), ('soon.example.com', false, $2, 0, null, $1), ('new.example.com', false, $3, 0, null, $1)`,
    [inDays(-1), inDays(3), inDays(60)],
  )
  expect(await findings('ended.example.com')).toMatchObject([{ severity: 'bad', since: inDays(-1).toISOString() }])
  expect(await findings('soon.example.com')).toMatchObject([{ severity: 'warn' }])
  expect(await findings('new.example.com')).toEqual([])
  const all = (await overview()).findings.map(({ severity }) => severity)
  expect(all).toEqual(all.toSorted())
  await heartbeat.close()
})

test('deployments of all organizations that have not ended are listed with the reason why they wait', async () => {
  const org = await t.make.org()
  await query(
    `insert into deployments (org_id, squid_id, squid_name, squid_slot, type, status, request_key, created_at, updated_at)
     values ($1, 1, 'waiting', 'v1', 'DEPLOY', 'UNPACKING', 'a', $2, $2)`,
    [org.id, new Date(t.clock.now().getTime() - minutes(5))],
  )
  const { deployments } = await t.as(operator).operators.listDeployments({})
  expect(deployments).toMatchObject([
    { organization: { code: org.code }, reference: 'waiting@v1', worker: null, waitsFor: 'No worker is active.' },
  ])
  expect((await overview()).deployments).toMatchObject({ queued: 1, running: 0 })
  expect(await findings('deployments')).toMatchObject([{ since: deployments[0]?.createdAt }])
})

test('a deployment waits for a worker, for another worker, or for its turn to build', () => {
  const report = { worker: 'active' as const } as Parameters<typeof waitsFor>[1][number]['report']
  const active = [{ name: 'a/1', silentMs: 0, report }]
  const running = { worker: 'a/1', status: 'SQUID_SYNCING' as const, hasLeftQueue: false }
  expect(waitsFor(running, active)).toBeNull()
  expect(waitsFor({ ...running, worker: null }, active)).toContain('No worker has claimed it yet')
  expect(waitsFor({ ...running, worker: 'b/2' }, active)).toContain('b/2')
  expect(waitsFor({ ...running, status: 'IMAGE_BUILDING' }, active)).toContain('its turn')
  expect(waitsFor({ ...running, status: 'IMAGE_BUILDING', hasLeftQueue: true }, active)).toBeNull()
})

test('slow statements are recorded without values, and statements that set a password are not recorded', async () => {
  const url = 'postgres://example'
  recordStatement(url, `select  *\nfrom users where name = 'O''Neil'`, 300)
  recordStatement(url, `select  *\nfrom users where name = 'Ann'`, 500)
  recordStatement(url, `alter role a password 'x'`, 900)
  recordStatement(url, 'select 1', 1)
  expect(slowStatements(url, 10)).toEqual([
    { text: `select * from users where name = '…'`, calls: 2, meanMs: 400, maxMs: 500 },
  ])
  await query('select pg_sleep(0.3)')
  expect(slowStatements(t.app.database.url, 10).map(({ text }) => text)).toContain('select pg_sleep(0.3)')
  // The Postgres of tests does not load pg_stat_statements.
  const heartbeat = startHeartbeat(t.app, minutes(60))
  await heartbeat.beat()
  const { statements } = await overview()
  expect([statements.source, statements.since]).toEqual(['PROCESSES', null])
  expect(statements.list.map(({ text }) => text)).toContain('select pg_sleep(0.3)')
  await heartbeat.close()
})

test('the `shoal` commands that list organizations and squids return the same as the pages', async () => {
  const org = await t.make.org({ code: 'listed' })
  for (let i = 0; i < 60; i++)
    await query(
      `insert into squids (org_id, name, slot, desired_state, created_at) values ($1, $2, 'v1', 'hibernated', now())`,
      [org.id, `listed-${i}`],
    )
  const options = { search: 'listed' } as CliOptions
  const { orgs } = await t.as(operator).operators.listOrgs({ query: { search: 'listed' } })
  expect(JSON.parse(JSON.stringify(await listOrgs(t.app, options)))).toEqual({ orgs })
  const listed = (await listSquids(t.app, options))['squids'] as { name: string }[]
  expect(new Set(listed.map(({ name }) => name)).size).toBe(60)
})

test('`shoal status` returns the same as the overview and the list of deployments', async () => {
  const heartbeat = startHeartbeat(t.app, minutes(60))
  await heartbeat.beat()
  await measured(t.app, 'listed', 1_000, async () => {})()
  await query('select pg_sleep(0.3)')
  await heartbeat.beat()
  const printed = JSON.parse(JSON.stringify(await status(t.app))) as Record<string, unknown>
  // Connections may open between the two calls.
  const { replicas, postgres, ...rest } = await overview()
  expect(printed).toMatchObject({ database: 'ok', postgres: postgres.map(({ name }) => ({ name })), ...rest })
  const loops = replicas.flatMap((replica) => replica.loops.map((loop) => ({ ...loop, replica: replica.name })))
  expect(printed['loops']).toEqual(loops)
  expect(printed['processes']).toEqual(replicas.map((replica) => ({ ...replica, loops: undefined })))
  expect(replicas).toMatchObject([{ name: replicaName, disk: { size: expect.any(Number) as number } }])
  expect(printed['loops']).toContainEqual(
    expect.objectContaining({ name: 'listed', replica: replicaName, lastMs: expect.any(Number) as number }),
  )
  expect(rest.statements.list).not.toEqual([])
  const { deployments } = await t.as(operator).operators.listDeployments({})
  expect(printed['unfinishedDeployments']).toEqual(deployments)
  expect(deployments).not.toEqual([])
  await heartbeat.close()
})
