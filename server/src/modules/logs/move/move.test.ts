import { createSimRuntime, type SimRuntime } from '@shoal/runtime'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WorkerApp } from '../../../app.ts'
import { systemClock } from '../../../clock.ts'
import type { LeaderHandle } from '../../../db/leases.ts'
import { createHttpApp } from '../../../http/app.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { until } from '../../../testing/until.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import type { SquidRow } from '../../versions/store.ts'
import { startLogIngest } from '../ingest/start-ingest.ts'
import { followLogs } from '../testing/follower.ts'
import { breakingClient, readAllLines, withLogsDatabase, type Break, type LogsApp } from '../testing/logs-app.ts'
import { prepareLogsDatabase } from './adopt.ts'
import { moveVersion } from './move-version.ts'
import { startLogsMove } from './start-move.ts'
import { findMove } from './state-store.ts'

const numbers = (count: number, prefix: string) => Array.from({ length: count }, (_, i) => `${prefix} ${i}`)
const early = numbers(2_600, 'early')
const late = numbers(1_300, 'late')

let t: TestApp
let runtime: SimRuntime
let org: TestOrg
let squid: SquidRow
let moved: LogsApp
const handles: LeaderHandle[] = []

beforeEach(async () => {
  runtime = createSimRuntime()
  const env = { SHOAL_LOG_LINES_PER_SECOND: '0', SHOAL_LOG_ORG_LINES_PER_SECOND: '0' }
  t = await startTestApp({ clock: systemClock, runtime, env })
  org = await t.make.org()
  squid = await makeVersion(t.app, org, { processors: { eth: { print: early } } })
  const ingest = startLogIngest(t.app)
  await until(async () => expect(await readAllLines(t.app, squid.id)).toEqual(early))
  await ingest.close()
  moved = await withLogsDatabase(t.app)
})
afterEach(async () => {
  await Promise.all(handles.splice(0).map((handle) => handle.close()))
  await moved.close()
  await t.close()
})

const closeAfterTest = (...started: LeaderHandle[]) => void handles.push(...started)
const printLate = () => runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: late })]))
const linesOf = (app: WorkerApp) => readAllLines(app, squid.id)

async function count(app: WorkerApp, table: string): Promise<number> {
  const { rows } = await app.logsDatabase.pool.query<{ count: number }>(`select count(*)::int as count from ${table}`)
  return rows[0]?.count ?? 0
}

const untilMoved = () => until(async () => expect(await findMove(t.app.db)).toMatchObject({ isMoved: true }))

test('new lines go to the separate database immediately, earlier ones are moved there, and readers see all of them at any time', async () => {
  const http = await createHttpApp(moved.app)
  const url = await http.listen({ port: 0, host: '127.0.0.1' })
  try {
    const path = `${url}/api/v1/orgs/${org.code}/squids/test-squid@v1/logs/follow?after=2000`
    const follower = await followLogs(path, org.admin.token)
    const texts = () => follower.entries.map(({ payload }) => payload)
    await until(() => expect(texts()).toEqual(early.slice(2_000)))
    closeAfterTest(startLogIngest(moved.app))
    await printLate()
    await until(async () => expect(await linesOf(moved.app)).toEqual([...early, ...late]))
    expect(await count(moved.app, 'log_lines')).toBe(late.length)
    closeAfterTest(startLogsMove(moved.app))
    await untilMoved()
    expect(await linesOf(moved.app)).toEqual([...early, ...late])
    expect(await count(moved.app, 'log_lines')).toBe(early.length + late.length)
    expect([await count(t.app, 'log_lines'), await count(t.app, 'log_blocks')]).toEqual([0, 0])
    await until(() => expect(texts()).toEqual([...early.slice(2_000), ...late]))
    follower.disconnect()
  } finally {
    await http.close()
  }
})

type Breaks = { target?: Break; source?: Break }

/** Prepares the separate database and moves the version, with connections that break. Returns whether neither of them broke. */
async function moveWithBreaks({ target = never, source = never }: Breaks = {}): Promise<boolean> {
  const to = await breakingClient(moved.target.url, target)
  const from = await breakingClient(t.app.database.url, source)
  const signal = new AbortController().signal
  try {
    await prepareLogsDatabase(moved.app, to)
    await moveVersion(from, to, squid.id, { oldestAtMs: 0, signal, afterBatch: async () => {} })
    return true
  } catch (error) {
    expect(String(error)).toContain('The connection broke')
    return false
  } finally {
    await Promise.all([to.end(), from.end()])
  }
}

const never: Break = { at: Infinity, when: 'before' }

test.each([
  { side: 'target', when: 'before' },
  { side: 'target', when: 'after' },
  { side: 'source', when: 'before' },
  { side: 'source', when: 'after' },
] as const)(
  'a move that loses the connection to its $side $when any statement continues when it is started again, and every line is stored once',
  async ({ side, when }) => {
    let breaks = 0
    const breaksAt = (at: number): Breaks => (side === 'target' ? { target: { at, when } } : { source: { at, when } })
    for (let at = 1; !(await moveWithBreaks(breaksAt(at))); at++) {
      breaks++
      expect(await linesOf(moved.app)).toEqual(early)
    }
    expect(breaks).toBeGreaterThan(2)
    expect(await linesOf(moved.app)).toEqual(early)
    expect(await count(moved.app, 'log_lines')).toBe(early.length)
    expect(await count(t.app, 'log_streams')).toBe(0)
  },
)

test('workers that start at the same time move every line once', async () => {
  await printLate()
  closeAfterTest(...[1, 2, 3].flatMap(() => [startLogIngest(moved.app), startLogsMove(moved.app)]))
  await untilMoved()
  await until(async () => expect(await linesOf(moved.app)).toEqual([...early, ...late]))
  expect(await count(moved.app, 'log_lines')).toBe(early.length + late.length)
})

test('a worker without the setting stores no lines; a later worker with the setting stores them', async () => {
  closeAfterTest(startLogIngest(moved.app))
  await until(async () => expect(await findMove(t.app.db)).toMatchObject({ isMoved: false }))
  const failures: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void failures.push(line) })
  await Promise.all(handles.splice(0).map((handle) => handle.close()))
  closeAfterTest(startLogIngest({ ...t.app, log }))
  await printLate()
  await until(() => expect(failures.join()).toContain('SHOAL_LOGS_DATABASE_URL'))
  expect(await count(t.app, 'log_lines')).toBe(early.length)
  await Promise.all(handles.splice(0).map((handle) => handle.close()))
  closeAfterTest(startLogIngest(moved.app), startLogsMove(moved.app))
  await untilMoved()
  await until(async () => expect(await linesOf(moved.app)).toEqual([...early, ...late]))
})

test('a target without space refuses lines, which wait, and the move continues when there is space', async () => {
  const failures: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void failures.push(line) })
  closeAfterTest(startLogIngest({ ...moved.app, log }))
  await until(async () => expect(await findMove(t.app.db)).toMatchObject({ isMoved: false }))
  await moved.target.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise sqlstate '53100'; end $$;
    create trigger full_disk before insert on log_blocks execute function refuse();
    create trigger full_disk before insert or update on log_streams execute function refuse()`)
  closeAfterTest(startLogsMove({ ...moved.app, log }))
  await printLate()
  await until(() => {
    expect(failures.filter((line) => line.includes('"name":"log-ingest"'))).not.toEqual([])
    expect(failures.filter((line) => line.includes('"name":"logs-move"'))).not.toEqual([])
  })
  expect(await linesOf(moved.app)).toEqual(early)
  await moved.target.pool.query('drop function refuse() cascade')
  await untilMoved()
  await until(async () => expect(await linesOf(moved.app)).toEqual([...early, ...late]))
  expect(await count(moved.app, 'log_lines')).toBe(early.length + late.length)
})
