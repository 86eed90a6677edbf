import { gapContainer } from '@shoal/contract'
import { createSimRuntime, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LeaderHandle } from '../../../db/leases.ts'
import { systemClock } from '../../../clock.ts'
import { createHttpApp } from '../../../http/app.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { deleteSquid, type SquidRow } from '../../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { startLogIngest } from '../ingest/start-ingest.ts'
import { readAfter } from '../lines-store.ts'
import { createTail } from './tail.ts'
import { followLogs, type Follower } from '../testing/follower.ts'
import { until } from '../../../testing/until.ts'

let t: TestApp
let runtime: SimRuntime
let org: TestOrg
let squid: SquidRow
let ingest: LeaderHandle
const open: Follower[] = []
beforeEach(async () => {
  runtime = createSimRuntime()
  // These tests write larger bursts of lines than squids may.
  const env = { SHOAL_LOG_LINES_PER_SECOND: '0', SHOAL_LOG_KB_PER_SECOND: '0' }
  t = await startTestApp({ clock: systemClock, runtime, env })
  org = await t.make.org()
  squid = await makeVersion(t.app, org, { processors: { eth: { print: ['before'] } } })
  ingest = startLogIngest(t.app)
  await until(async () => expect((await history()).logs).toHaveLength(1))
})
afterEach(async () => {
  for (const follower of open.splice(0)) follower.disconnect()
  await ingest.close()
  await t.close()
})

const history = () =>
  t.as(org.admin).logs.history({ params: { code: org.code, reference: 'test-squid@v1' }, query: {} })

async function follow(query = '', base?: string): Promise<Follower> {
  const address = base ?? (await t.listen())
  const url = `${address}/api/v1/orgs/${org.code}/squids/test-squid@v1/logs/follow${query}`
  const follower = await followLogs(url, org.admin.token)
  open.push(follower)
  await until(() => expect(follower.heartbeats).toBeGreaterThan(0))
  return follower
}

/** Restarts the container so that it prints these lines. */
const write = (...lines: string[]) => runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: lines })]))

const messages = (follower: Follower) =>
  follower.entries.map(({ payload }) => (typeof payload === 'string' ? payload : payload['msg']))

test('a line reaches every follower within half a second, even in another process', async () => {
  // Each `Database` object has its own listening connection.
  const database = { ...t.app.database }
  const other = await createHttpApp({ ...t.app, database, logsDatabase: database })
  try {
    const base = await other.listen({ port: 0, host: '127.0.0.1' })
    const followers = [await follow(), await follow(), await follow('', base)]
    for (let i = 0; i < 5; i++) {
      const startedMs = performance.now()
      await write(`line ${i}`)
      await until(() => followers.forEach((f) => expect(messages(f).at(-1)).toBe(`line ${i}`)))
      expect(performance.now() - startedMs).toBeLessThan(500)
    }
    for (const follower of followers) {
      expect(messages(follower)).toEqual(['line 0', 'line 1', 'line 2', 'line 3', 'line 4'])
      follower.disconnect()
    }
  } finally {
    other.server.closeAllConnections()
    await other.close()
  }
})

test('a follower receives only lines that match its filters; levels may be in lower case', async () => {
  const errors = await follow('?level%5B%5D=error')
  const found = await follow('?search=TRANSFER&container[]=processor')
  const others = await follow('?container[]=api')
  await write(
    '{"level":2,"msg":"a transfer"}',
    '{"level":4,"msg":"no transfer"}',
    '{"level":5,"msg":"the end"}',
    'last',
  )
  const all = await follow('?after=1')
  await until(() => expect(messages(all)).toContain('last'))
  await until(() => expect(messages(errors)).toEqual(['no transfer', 'the end']))
  await until(() => expect(messages(found)).toEqual(['a transfer', 'no transfer']))
  expect(others.entries).toEqual([])
})

test('a follower can continue after a line, and receives all of the thousands of lines since then', async () => {
  const [first] = (await history()).logs
  const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`)
  await write(...lines)
  const follower = await follow(`?after=${first?.id}`)
  await write('then this')
  await until(() => expect(messages(follower)).toEqual([...lines, 'then this']))
})

test('long lines arrive in batches of limited size, which are read one at a time', async () => {
  const [first] = (await history()).logs
  const tail = createTail((query) => readAfter(t.app.db, squid.id, query), Number(first?.id))
  const count = 300
  await write(...Array.from({ length: count }, (_, i) => `${i} ${'x'.repeat(60_000)}`))
  await until(async () => expect((await history()).logs[0]?.payload).toMatch(new RegExp(`^${count - 1} `)))
  const follower = await follow(`?after=${first?.id}`)
  await until(() => expect(follower.entries).toHaveLength(count))
  expect(messages(follower).map((text) => Number.parseInt(String(text), 10))).toEqual(
    Array.from({ length: count }, (_, i) => i),
  )
  expect(follower.maxBatchLength).toBeLessThan(2e6)

  const sizes: number[] = []
  const read = tail.refresh()
  for (let from = tail.lastSeq; sizes.length < 3; from = tail.lastSeq) {
    await tail.changed(new AbortController().signal)
    sizes.push(tail.lastSeq - from)
  }
  await read
  expect(Math.max(...sizes) * 60_000).toBeLessThan(3e6)
  expect(tail.lastSeq).toBe(Number(first?.id) + count)
})

test('a follower that is too slow receives the number of lines it missed, and all other lines', async () => {
  const slow = await follow()
  const quick = await follow()
  slow.pause()
  const text = 'x'.repeat(1000)
  const count = 40_000
  for (let i = 0; i < count; i += 5000) await write(...Array.from({ length: 5000 }, (_, k) => `${text} ${i + k}`))
  await until(() => expect(messages(quick).at(-1)).toBe(`${text} ${count - 1}`))
  slow.resume()
  await until(() => expect(messages(slow).at(-1)).toBe(`${text} ${count - 1}`))
  const gaps = slow.entries.filter((entry) => entry.container === gapContainer)
  const missing = gaps.reduce(
    (sum, gap) => sum + Number(/^(\d+) lines? (?:was|were) left out/.exec(String(gap.payload))?.[1]),
    0,
  )
  expect(gaps.length).toBeGreaterThan(0)
  expect(gaps[0]).toMatchObject({
    level: 'WARNING',
    payload: expect.stringContaining('because this reader was too slow'),
  })
  expect(slow.entries.length - gaps.length + missing).toBe(count)
  expect(new Set(slow.entries.map((entry) => entry.id)).size).toBe(slow.entries.length)
  expect(messages(quick)).toHaveLength(count)
})

test('the stream ends when the version is deleted', async () => {
  const follower = await follow()
  await deleteSquid(t.app.db, squid.id)
  await until(() => expect(follower.isEnded).toBe(true))
})

test('all followers share one listening connection, which is closed when the last one disconnects', async () => {
  const countListeners = async () => {
    const { rows } = await t.app.database.pool.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where application_name = 'shoal-listen' and datname = current_database()",
    )
    return rows[0]?.count
  }
  expect(await countListeners()).toBe(0)
  const followers = await Promise.all(Array.from({ length: 20 }, () => follow()))
  expect(await countListeners()).toBe(1)
  for (const follower of followers) follower.disconnect()
  await until(async () => expect(await countListeners()).toBe(0))
})
