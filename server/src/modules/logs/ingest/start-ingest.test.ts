import { createSimRuntime, ManualClock, type SimRuntime } from '@shoal/runtime'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { days } from '../../../clock.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { deleteSquid } from '../../versions/index.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { until } from '../../../testing/until.ts'
import { rotateDayPartitions } from './retention.ts'
import { startLogIngest } from './start-ingest.ts'

let t: TestApp
let clock: ManualClock
let runtime: SimRuntime
let org: TestOrg
beforeEach(async () => {
  clock = new ManualClock()
  runtime = createSimRuntime({ clock })
  t = await startTestApp({ clock, runtime })
  org = await t.make.org()
})
afterEach(() => t.close())

const history = async (reference = 'test-squid@v1', query = {}) =>
  (await t.as(org.admin).logs.history({ params: { code: org.code, reference }, query: { limit: '10000', ...query } }))
    .logs

const messages = async (reference?: string, query?: object) => {
  const entries = await history(reference, { orderBy: 'asc', ...query })
  return entries.map(({ payload }) => (typeof payload === 'string' ? payload : String(payload['msg'])))
}

const numbers = (count: number, prefix = 'line') => Array.from({ length: count }, (_, i) => `${prefix} ${i}`)

test('lines of all containers are returned with their level, container, time and payload', async () => {
  const time = clock.now().getTime() - 5000
  await makeVersion(t.app, org, {
    apis: [{ print: ['listening'] }, { print: ['listening too'] }],
    processors: { eth: { print: [JSON.stringify({ level: 3, time, ns: 'sqd:processor', msg: 'slow', left: 7 })] } },
  })
  const ingest = startLogIngest(t.app)
  try {
    await until(async () => expect(await history()).toHaveLength(3))
    expect(await history()).toEqual([
      { id: '3', timestamp: clock.now().toISOString(), level: 'INFO', container: 'api', payload: 'listening too' },
      { id: '2', timestamp: clock.now().toISOString(), level: 'INFO', container: 'api', payload: 'listening' },
      {
        id: '1',
        timestamp: new Date(time).toISOString(),
        level: 'WARNING',
        container: 'eth',
        payload: { level: 'WARNING', ns: 'sqd:processor', msg: 'slow', left: 7 },
      },
    ])
  } finally {
    await ingest.close()
  }
})

test('every line is stored once and in order, even when several workers start and stop concurrently', async () => {
  const squid = await makeVersion(t.app, org, { processors: { eth: { print: numbers(6000) } } })
  const untilAllStored = (search: string) =>
    until(async () => expect(await messages(undefined, { search })).toHaveLength(1000))
  for (let round = 0; round < 6; round++) {
    const workers = [startLogIngest(t.app), startLogIngest(t.app)]
    // Workers are closed either immediately or after they have stored the lines.
    if (round % 2 === 1) await untilAllStored(`round ${round - 1}`)
    await Promise.all(workers.map((worker) => worker.close()))
    const more = numbers(1000, `round ${round}`)
    await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: more })]))
  }
  const ingest = startLogIngest(t.app)
  try {
    await untilAllStored('round 5')
    const pages: string[] = []
    let nextPage: string | null = null
    do {
      const query = { orderBy: 'asc' as const, limit: '777', ...(nextPage ? { nextPage } : {}) }
      const page = await t.as(org.admin).logs.history({ params: { code: org.code, reference: 'test-squid@v1' }, query })
      pages.push(...page.logs.map((entry) => String(entry.payload)))
      nextPage = page.nextPage
    } while (nextPage)
    expect(pages).toEqual([...numbers(6000), ...[0, 1, 2, 3, 4, 5].flatMap((round) => numbers(1000, `round ${round}`))])
  } finally {
    await ingest.close()
  }
})

test('lines with hostile levels are stored and indexed, and do not stop the ingestion', async () => {
  const hostile = ['"constructor"', '"__proto__"', '-1', '1e300', '{}'].map((level) => `{"level":${level},"msg":"odd"}`)
  await makeVersion(t.app, org, { processors: { eth: { print: [...hostile, ...numbers(2000)] } } })
  const ingest = startLogIngest(t.app)
  try {
    await until(async () => expect(await messages()).toHaveLength(2005))
    expect((await history('test-squid@v1', { search: 'odd' })).map(({ level }) => level)).toEqual(
      hostile.map(() => 'INFO'),
    )
    await until(async () => {
      const { rows } = await t.app.database.pool.query('select count(*)::int as blocks from log_blocks')
      expect(rows).toEqual([{ blocks: 2 }])
    })
  } finally {
    await ingest.close()
  }
})

test('values of secrets, current or replaced, are not stored in any encoding', async () => {
  const api = t.as(org.admin).secrets
  const set = (name: string, value: string) =>
    api.change({ params: { code: org.code }, body: { secrets: [{ action: 'UPDATE', name, value }] } })
  await set('KEY', 'hunter2 "quoted" / and\nanother line of it')
  await set('PIN', '4711471147')
  await set('SHORT', 'no')
  const value = 'hunter2 "quoted" / and\nanother line of it'
  const record = {
    level: 2,
    msg: `key ${value}`,
    err: { url: `https://x/?k=${encodeURIComponent(value)}`, pin: 4711471147 },
  }
  const print = [
    'the key is hunter2 "quoted" / and',
    '  another line of it',
    JSON.stringify({ ...record, 4711471147: [JSON.stringify({ body: value })] }),
    // The same character in another encoding.
    '{"level":2,"msg":"k\\u0065y \\u0068unter2 \\"quoted\\" \\/ and\\nanother line of it"}',
    'pins 4711471147 and no others',
  ]
  const squid = await makeVersion(t.app, org, { processors: { eth: { print } } })
  const ingest = startLogIngest(t.app)
  try {
    await until(async () => expect(await history()).toHaveLength(print.length))
    const stored = await t.app.database.pool.query<{ fields: string }>('select * from log_lines')
    expect(JSON.stringify(stored.rows)).not.toMatch(/hunter2|another line|4711471147/)
    expect((await messages()).at(-1)).toBe('pins *** and no others')
    const [storedFields] = stored.rows.flatMap((row) => (row.fields === null ? [] : [JSON.parse(row.fields)]))
    expect(storedFields).toMatchObject({ '***': ['{"body":"***"}'], err: { url: 'https://x/?k=***', pin: '***' } })

    await set('KEY', 'a new value')
    await runtime.apply(
      workloadOf(squid, [specOf('eth', 3000, { print: ['was hunter2 "quoted" / and', 'is a new value'] })]),
    )
    await until(async () => expect((await messages()).slice(-2)).toEqual(['was ***', 'is ***']))
  } finally {
    await ingest.close()
  }
})

test('expired days are dropped with all their lines; other days are kept', async () => {
  const squid = await makeVersion(t.app, org, { processors: { eth: { print: numbers(1500, 'old') } } })
  const ingest = startLogIngest(t.app)
  try {
    await until(async () => expect(await history()).toHaveLength(1500))
    clock.advance(days(t.app.config.SHOAL_LOG_RETENTION_DAYS))
    await runtime.apply(workloadOf(squid, [specOf('eth', 3000, { print: numbers(10, 'new') })]))
    await until(async () => expect(await history()).toHaveLength(1510))
    await rotateDayPartitions(t.app)
    expect(await history()).toHaveLength(1510)
    clock.advance(days(1))
    await rotateDayPartitions(t.app)
    await rotateDayPartitions(t.app)
    expect(await messages()).toEqual(numbers(10, 'new'))
    expect(await messages(undefined, { search: 'old' })).toEqual([])
  } finally {
    await ingest.close()
  }
})

test('only the lines of a deleted version remain, until their day is dropped', async () => {
  const squid = await makeVersion(t.app, org, { processors: { eth: { print: numbers(1200) } } })
  const ingest = startLogIngest(t.app)
  try {
    const countQuery =
      'select (select count(*) from log_blocks) as blocks, (select count(*) from log_streams) as streams'
    const counts = async () => (await t.app.database.pool.query(countQuery)).rows
    await until(async () => expect(await counts()).toEqual([{ blocks: 1, streams: 1 }]))
    await deleteSquid(t.app.db, squid.id)
    await rotateDayPartitions(t.app)
    expect(await counts()).toEqual([{ blocks: 0, streams: 0 }])
    await expect(history()).rejects.toMatchObject({ status: 404 })
  } finally {
    await ingest.close()
  }
})

test('invalid queries are rejected, and the response names the field', async () => {
  await makeVersion(t.app, org)
  await expect(history(undefined, { nextPage: 'made up' })).rejects.toMatchObject({
    status: 400,
    body: { invalidFields: [{ path: ['nextPage'] }] },
  })
  await expect(history(undefined, { from: 'yesterday' })).rejects.toMatchObject({ status: 400 })
  await expect(history('test-squid@v2')).rejects.toMatchObject({ status: 404 })
})
