import { expect, test } from 'vitest'
import { costOf, maxReadOf, type PlanNode } from './cost.ts'
import { judge, unusedEntries } from './judge.ts'

const scan = (type: string, rows: number, overrides: Partial<PlanNode> = {}): PlanNode => ({
  'Node Type': type,
  'Relation Name': 'squids',
  'Actual Rows': rows,
  'Actual Loops': 1,
  ...overrides,
})
const parent = (type: string, rows: number, ...plans: PlanNode[]): PlanNode => ({ ...scan(type, rows), Plans: plans })

const exceeds = (plan: PlanNode, mayAggregate = false) => costOf(plan).read > maxReadOf(costOf(plan), mayAggregate)

test('a scan that discards nearly all rows exceeds maxRead, but an index scan for the same rows does not', () => {
  expect(exceeds(scan('Seq Scan', 1, { 'Rows Removed by Filter': 9_999 }))).toBe(true)
  expect(exceeds(scan('Index Scan', 1))).toBe(false)
  expect(costOf(scan('Seq Scan', 1, { 'Rows Removed by Filter': 9_999 }))).toMatchObject({
    read: 10_000,
    returned: 1,
    scanned: ['squids'],
  })
})

test('rows that an index scan discards and the iterations of a nested loop count as read', () => {
  expect(exceeds(scan('Index Scan', 1, { 'Rows Removed by Filter': 9_999 }))).toBe(true)
  expect(exceeds(scan('Bitmap Heap Scan', 1, { 'Rows Removed by Index Recheck': 9_999 }))).toBe(true)
  expect(
    costOf(parent('Nested Loop', 10, scan('Index Scan', 10), scan('Index Scan', 2, { 'Actual Loops': 10 }))),
  ).toMatchObject({
    read: 30,
    returned: 10,
  })
})

test('rows read under a Limit node, and rows that a join compares without returning them, count as read', () => {
  expect(exceeds(parent('Limit', 20, parent('Sort', 20, scan('Seq Scan', 10_000))))).toBe(true)
  expect(exceeds(parent('Hash Join', 0, scan('Seq Scan', 10_000), scan('Seq Scan', 10_000)))).toBe(true)
})

test('written rows count as returned, aggregated rows only for a statement in `aggregates`, and discarded rows never', () => {
  const count = parent('Aggregate', 1, scan('Seq Scan', 10_000))
  expect(exceeds(count)).toBe(true)
  expect(exceeds(count, true)).toBe(false)
  expect(exceeds(parent('Aggregate', 1, scan('Seq Scan', 10, { 'Rows Removed by Filter': 9_990 })), true)).toBe(true)
  expect(exceeds(parent('ModifyTable', 0, scan('Seq Scan', 10_000)))).toBe(false)
})

test('an exception raises the limit of its statement in proportion to the versions, and is reported when unused', () => {
  const cost = costOf(scan('Seq Scan', 0, { 'Rows Removed by Filter': 10_000, 'Shared Hit Blocks': 100 }))
  const base = { caller: 'reconcile', statement: 'select id from squids where x', executions: 1, totalMs: 1 }
  const statement = { ...base, cost, aggregateCost: cost }
  const exception = { statement: 'select id from squids', perVersion: 1, reason: 'once a day' }
  const stale = { ...exception, statement: 'select id from orgs' }
  const areWithinLimit = (statements: (typeof statement)[], exceptions: (typeof exception)[], versions = 10_000) =>
    judge(statements, { aggregates: [], exceptions }, versions).map((judged) => judged.isWithinLimit)
  expect(areWithinLimit([statement], [])).toEqual([false])
  expect(areWithinLimit([{ ...statement, cost: { ...cost, pages: 32 } }], [])).toEqual([true])
  expect(areWithinLimit([statement], [exception, stale])).toEqual([true])
  expect(areWithinLimit([statement], [exception], 1_000)).toEqual([false])
  const lists = { aggregates: [{ ...stale, statement: 'select count' }], exceptions: [exception, stale] }
  expect(unusedEntries(judge([statement], lists, 10_000), lists)).toEqual(['select count', 'select id from orgs'])
})

test('a statement in `aggregates` is judged by its most wasteful execution (`aggregateCost`), any other by the one that reads most beyond its limit', () => {
  const wide = costOf(parent('Aggregate', 1, scan('Seq Scan', 10_000, { 'Shared Hit Blocks': 100 })))
  const wasteful = costOf(parent('Aggregate', 1, scan('Seq Scan', 10, { 'Rows Removed by Filter': 9_000 })))
  const statement = { caller: 'a', statement: 'select count', executions: 2, totalMs: 1, cost: wide }
  const aggregates = [{ statement: 'select count', reason: 'counts' }]
  const [judged] = judge(
    [{ ...statement, aggregateCost: { ...wasteful, pages: 100 } }],
    { aggregates, exceptions: [] },
    1,
  )
  expect(judged).toMatchObject({ isWithinLimit: false, cost: { read: 9_010 } })
})
