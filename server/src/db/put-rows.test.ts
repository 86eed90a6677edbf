import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { replicas } from '../installation/tables.ts'
import { startTestApp, type TestApp } from '../testing/index.ts'
import { putRows } from './put-rows.ts'
import { inArray, sql } from './sql.ts'

let t: TestApp
beforeAll(async () => void (t = await startTestApp()))
afterAll(() => t?.close())

type Row = typeof replicas.$inferSelect
const report = {
  version: '1',
  roles: ['worker'],
  worker: null,
  problems: ["it's \\ud83d “quoted”, ä"],
  loops: [],
  statements: [],
  disk: null,
  lastBackupAt: null,
  certificateUntil: null,
}
const rowOf = (id: string, name: string, seenAt = new Date(1_000)): Row => ({
  id,
  name,
  report,
  startedAt: new Date(0),
  seenAt,
})
const select = (...ids: string[]) => t.app.db.select().from(replicas).where(inArray(replicas.id, ids))

test('rows are inserted, and replaced when their key exists', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  await putRows(t.app.db, replicas, [rowOf(first, 'a')], ['id'])
  expect(await select(first)).toEqual([rowOf(first, 'a')])
  const rows = [rowOf(first, "it's $1; -- ä€", new Date(2_000)), rowOf(second, 'b\\"{}')]
  await putRows(t.app.db, replicas, rows, ['id'])
  expect((await select(first, second)).toSorted((a, b) => Number(b.seenAt) - Number(a.seenAt))).toEqual(rows)
})

test('`set` decides what changes in existing rows', async () => {
  const id = randomUUID()
  await putRows(t.app.db, replicas, [rowOf(id, 'before', new Date(5_000))], ['id'])
  const set = sql`seen_at = greatest(${replicas.seenAt}, excluded.seen_at)`
  await putRows(t.app.db, replicas, [rowOf(id, 'after', new Date(3_000))], ['id'], set)
  expect(await select(id)).toEqual([rowOf(id, 'before', new Date(5_000))])
  await putRows(t.app.db, replicas, [rowOf(id, 'after', new Date(9_000))], ['id'], set)
  expect(await select(id)).toEqual([rowOf(id, 'before', new Date(9_000))])
})

test('text that was cut within a character does not prevent other rows from being stored', async () => {
  const [first, second] = [randomUUID(), randomUUID()]
  await putRows(t.app.db, replicas, [rowOf(first, '😀'.slice(0, 1)), rowOf(second, '😀')], ['id'])
  expect((await select(first, second)).map(({ name }) => name).toSorted()).toEqual(['\ufffd', '😀'].toSorted())
})

test('without rows, no statement is executed; for tens of thousands of rows, several statements', async () => {
  await putRows(t.app.db, replicas, [], ['id'])
  const rows = Array.from({ length: 20_000 }, (_, i) => rowOf(randomUUID(), `many-${i}`))
  await putRows(t.app.db, replicas, rows, ['id'])
  const { rows: counts } = await t.app.db.execute<{ count: number }>(
    sql`select count(*)::int as count from replicas where name like 'many-%'`,
  )
  expect(counts).toEqual([{ count: 20_000 }])
})
