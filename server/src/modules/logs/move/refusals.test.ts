import { createSimRuntime, type SimRuntime } from '@shoal/runtime'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { systemClock } from '../../../clock.ts'
import { migrate } from '../../../db/migrate.ts'
import { readiness } from '../../../health/readiness.ts'
import { createHttpApp } from '../../../http/app.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { startPostgresProxy } from '../../../testing/postgres-proxy.ts'
import { cloneDatabase } from '../../../testing/test-database.ts'
import { until } from '../../../testing/until.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import type { SquidRow } from '../../versions/store.ts'
import { startLogIngest } from '../ingest/start-ingest.ts'
import { readAllLines, createReadOnlyRole, withLogsDatabase, type LogsApp } from '../testing/logs-app.ts'
import { requireLogsDatabase } from './logs-database.ts'
import { moveLogsBack } from './move-back.ts'
import { startLogsMove } from './start-move.ts'
import { findMove } from './state-store.ts'

const early = Array.from({ length: 1_200 }, (_, i) => `early ${i}`)
const late = Array.from({ length: 30 }, (_, i) => `late ${i}`)

let t: TestApp
let runtime: SimRuntime
let org: TestOrg
let squid: SquidRow
const cleanups: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  runtime = createSimRuntime()
  const env = { SHOAL_LOG_LINES_PER_SECOND: '0', SHOAL_LOG_ORG_LINES_PER_SECOND: '0' }
  t = await startTestApp({ clock: systemClock, runtime, env })
  org = await t.make.org()
  squid = await makeVersion(t.app, org, { processors: { eth: { print: early } } })
  const ingest = startLogIngest(t.app)
  await until(async () => expect(await readAllLines(t.app, squid.id)).toEqual(early))
  await ingest.close()
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
  await t.close()
})

async function withDatabase(via?: (url: string) => string): Promise<LogsApp> {
  const logs = await withLogsDatabase(t.app, via)
  cleanups.push(logs.close)
  return logs
}

/** Runs the ingestor and the move until all lines are in the separate database. */
async function moveAll({ app }: LogsApp): Promise<void> {
  const handles = [startLogIngest(app), startLogsMove(app)]
  try {
    await until(async () => expect(await findMove(t.app.db)).toMatchObject({ isMoved: true }))
  } finally {
    await Promise.all(handles.map((handle) => handle.close()))
  }
}

test('once the logs are in their own database, a server refuses to start without the setting, or with the URL of another database', async () => {
  const logs = await withDatabase()
  await requireLogsDatabase(t.app)
  await requireLogsDatabase(logs.app)
  await moveAll(logs)
  await requireLogsDatabase(logs.app)
  await expect(requireLogsDatabase(t.app)).rejects.toThrow('SHOAL_LOGS_DATABASE_URL is not set')
  const other = await withDatabase()
  await expect(requireLogsDatabase(other.app)).rejects.toThrow('does not name the database with the logs')
})

test.each(['a server starts', 'a worker starts'])(
  'when %s on a control plane that was restored from an earlier backup, the lines of later versions are deleted',
  async (starter) => {
    const logs = await withDatabase()
    const later = await makeVersion(t.app, org, { name: 'later', processors: { eth: { print: early } } })
    await moveAll(logs)
    const ingest = startLogIngest(logs.app)
    await until(async () => expect(await readAllLines(logs.app, later.id)).toEqual(early))
    await ingest.close()
    // The ids of new versions continue after the last id in the backup.
    await t.app.database.pool.query(`select setval(pg_get_serial_sequence('squids', 'id'), $1)`, [squid.id])
    if (starter === 'a server starts') await requireLogsDatabase(logs.app)
    else {
      const worker = startLogIngest({ ...logs.app, runtime: createSimRuntime() })
      cleanups.push(worker.close)
    }
    const laterRows = (table: string) =>
      logs.target.pool.query(`select from ${table} where squid_id = $1 limit 1`, [later.id])
    await until(async () => {
      for (const table of ['log_streams', 'log_blocks', 'log_lines']) expect((await laterRows(table)).rowCount).toBe(0)
    })
    expect(await readAllLines(logs.app, squid.id)).toEqual(early)
  },
)

test('a database of another installation, or of a control plane, is refused and stays as it is', async () => {
  const logs = await withDatabase()
  await moveAll(logs)
  const another = await startTestApp({ clock: systemClock, runtime: createSimRuntime() })
  cleanups.push(another.close)
  const config = logs.app.config
  const { logsDatabase } = logs.app
  const app = { ...another.app, config, logsDatabase }
  await expect(requireLogsDatabase(app)).rejects.toThrow('the logs of another installation')
  const controlPlane = await cloneDatabase()
  cleanups.push(controlPlane.close)
  await expect(requireLogsDatabase({ ...another.app, config, logsDatabase: controlPlane })).rejects.toThrow(
    'the database of a control plane',
  )
  const ingest = startLogIngest(app)
  await ingest.close()
  expect(await findMove(another.app.db)).toBeNull()
  expect(await readAllLines(logs.app, squid.id)).toEqual(early)
})

test('with a role that may not create tables, lines stay in the control plane and are shown', async () => {
  const logs = await withDatabase()
  const { url, drop } = await createReadOnlyRole(logs.target)
  cleanups.push(drop)
  const denied = await withLogsDatabase(t.app, () => url)
  cleanups.push(denied.close)
  const failures: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void failures.push(line) })
  const ingest = startLogIngest({ ...denied.app, log })
  cleanups.push(ingest.close)
  await until(() => expect(failures.join()).toContain('permission denied'))
  expect(await findMove(t.app.db)).toBeNull()
  expect(await readAllLines(denied.app, squid.id)).toEqual(early)
})

test('while the database of logs is down, requests for logs fail with that reason, everything else works, and no line is lost', async () => {
  const proxy = await startPostgresProxy(inject('postgresUrl'))
  cleanups.push(proxy.close)
  const logs = await withDatabase(proxy.via)
  await moveAll(logs)
  await proxy.stop()
  const http = await createHttpApp(logs.app)
  cleanups.push(() => http.close())
  const get = async (path: string) => {
    const headers = { authorization: `token ${org.admin.token}` }
    const { statusCode, body } = await http.inject({ url: `/api/v1/orgs/${org.code}/${path}`, headers })
    return { statusCode, body }
  }
  const ingest = startLogIngest(logs.app)
  cleanups.push(ingest.close)
  await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: late })]))
  expect(await get('squids/test-squid@v1/logs/history')).toMatchObject({
    statusCode: 405,
    body: expect.stringContaining('The logs cannot be shown, because their database does not respond'),
  })
  expect(await get('squids')).toMatchObject({ statusCode: 200 })
  await requireLogsDatabase(logs.app)
  const url = proxy.via(logs.target.url)
  const config = { ...logs.app.config, SHOAL_LOGS_DATABASE_URL: url }
  expect(await readiness({ ...logs.app, config, database: { ...t.app.database } })).toMatchObject({
    checks: { database: 'ok' },
    facts: { logsDatabase: 'does not respond' },
  })
  await proxy.start()
  await until(async () => expect(await readAllLines(logs.app, squid.id)).toEqual([...early, ...late]))
  expect(await get('squids/test-squid@v1/logs/history')).toMatchObject({ statusCode: 200 })
})

test('the logs can be moved back while no server runs, and away again', async () => {
  const logs = await withDatabase()
  await expect(moveLogsBack(t.app)).rejects.toThrow('Set SHOAL_LOGS_DATABASE_URL')
  await expect(moveLogsBack(logs.app)).rejects.toThrow('are in the database of the control plane')
  await moveAll(logs)
  const ingest = startLogIngest(logs.app)
  await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: late })]))
  await until(async () => expect(await readAllLines(logs.app, squid.id)).toEqual([...early, ...late]))
  await expect(moveLogsBack(logs.app)).rejects.toThrow('Stop all servers')
  await ingest.close()
  expect(await moveLogsBack(logs.app)).toEqual({ versions: 1 })
  await requireLogsDatabase(t.app)
  expect(await readAllLines(t.app, squid.id)).toEqual([...early, ...late])
  await moveAll(logs)
  expect(await readAllLines(logs.app, squid.id)).toEqual([...early, ...late])
})

test('releases that do not support the setting refuse to start once the logs are in their own database', async () => {
  const folder = mkdtempSync(join(inject('testsDir'), 'migrations-'))
  cleanups.push(async () => rmSync(folder, { recursive: true }))
  const migrations = join(import.meta.dirname, '../../../../migrations')
  for (const name of readdirSync(migrations))
    if (/^\d{4}_.*\.sql$/.test(name) && name < '0034') cpSync(join(migrations, name), join(folder, name))
  const logs = await withDatabase()
  await migrate(t.app.database.pool, folder)
  await moveAll(logs)
  await expect(migrate(t.app.database.pool, folder)).rejects.toThrow('it lacks 0034_logs_database.sql')
  await moveLogsBack(logs.app)
  await migrate(t.app.database.pool, folder)
})
