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
  t = await startTestApp({ clock: systemClock, runtime })
  org = await t.make.org()
  squid = await makeVersion(t.app, org, { processors: { eth: { print: ['before'] } } })
  ingest = startLogIngest(t.app)
  await until(async () => expect((await history()).logs).toHaveLength(1))
})
afterEach(async () => {
  for (const follower of open.splice(0)) follower.hangUp()
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
  await until(() => expect(follower.beats).toBeGreaterThan(0))
  return follower
}

/** Each call restarts the container with other lines. */
const write = (...lines: string[]) => runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: lines })]))

const messages = (follower: Follower) =>
  follower.entries.map(({ payload }) => (typeof payload === 'string' ? payload : payload['msg']))

test('a line reaches every follower within half a second, also in another process', async () => {
  const other = await createHttpApp({ ...t.app, database: { ...t.app.database } })
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
      follower.hangUp()
    }
  } finally {
    other.server.closeAllConnections()
    await other.close()
  }
})

test('filters are those of the history, with levels in lower case', async () => {
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

test('continues after a line without loss, regardless of the number of new lines', async () => {
  const [first] = (await history()).logs
  const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`)
  await write(...lines)
  const follower = await follow(`?after=${first?.id}`)
  await write('then this')
  await until(() => expect(messages(follower)).toEqual([...lines, 'then this']))
})

test('a reader that is too slow gets the number of missing lines, and the rest', async () => {
  const slow = await follow()
  const quick = await follow()
  slow.pause()
  const text = 'x'.repeat(1000)
  const count = 40_000
  for (let i = 0; i < count; i += 5000) await write(...Array.from({ length: 5000 }, (_, k) => `${text} ${i + k}`))
  await until(() => expect(messages(quick).at(-1)).toBe(`${text} ${count - 1}`), 30_000)
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
}, 60_000)

test('ends when the version is deleted', async () => {
  const follower = await follow()
  await deleteSquid(t.app.db, squid.id)
  await until(() => expect(follower.isEnded).toBe(true))
})

test('listens with one connection, and with none without followers', async () => {
  const listening = async () => {
    const { rows } = await t.app.database.pool.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where application_name = 'shoal-listen' and datname = current_database()",
    )
    return rows[0]?.count
  }
  expect(await listening()).toBe(0)
  const followers = await Promise.all(Array.from({ length: 20 }, () => follow()))
  expect(await listening()).toBe(1)
  for (const follower of followers) follower.hangUp()
  await until(async () => expect(await listening()).toBe(0))
})
