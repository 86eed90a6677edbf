import { expect, test } from 'vitest'
import { costOf, type PlanNode } from './cost.ts'
import { judge, unusedExceptions } from './judge.ts'

const scan = (type: string, rows: number, overrides: Partial<PlanNode> = {}): PlanNode => ({
  'Node Type': type,
  'Relation Name': 'squids',
  'Actual Rows': rows,
  'Actual Loops': 1,
  ...overrides,
})
const parent = (type: string, rows: number, ...plans: PlanNode[]): PlanNode => ({ ...scan(type, rows), Plans: plans })

const exceeds = (plan: PlanNode) => costOf(plan).read > costOf(plan).maxRead

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

test('rows that are read below a limit or compared by an anti-join count as read', () => {
  expect(exceeds(parent('Limit', 20, parent('Sort', 20, scan('Seq Scan', 10_000))))).toBe(true)
  expect(exceeds(parent('Hash Join', 0, scan('Seq Scan', 10_000), scan('Seq Scan', 10_000)))).toBe(true)
})

test('rows that are aggregated or written count as results, but rows discarded before that do not', () => {
  expect(exceeds(parent('Aggregate', 1, scan('Seq Scan', 10_000)))).toBe(false)
  expect(exceeds(parent('Aggregate', 1, scan('Seq Scan', 10, { 'Rows Removed by Filter': 9_990 })))).toBe(true)
  expect(exceeds(parent('ModifyTable', 0, scan('Seq Scan', 10_000)))).toBe(false)
})

test('an exception raises the limit of its statement in proportion to the versions, and is reported when unused', () => {
  const cost = costOf(scan('Seq Scan', 0, { 'Rows Removed by Filter': 10_000, 'Shared Hit Blocks': 100 }))
  const statement = { caller: 'reconcile', statement: 'select id from squids where x', executions: 1, totalMs: 1, cost }
  const exception = { statement: 'select id from squids', perVersion: 1, reason: 'once a day' }
  const stale = { ...exception, statement: 'select id from orgs' }
  expect(judge([statement], [], 10_000).map(({ holds }) => holds)).toEqual([false])
  const ofFewPages = { ...statement, cost: { ...cost, pages: 32 } }
  expect(judge([ofFewPages], [], 10_000).map(({ holds }) => holds)).toEqual([true])
  const judged = judge([statement], [exception, stale], 10_000)
  expect(judged.map(({ holds }) => holds)).toEqual([true])
  expect(unusedExceptions(judged, [exception, stale])).toEqual(['select id from orgs'])
  expect(judge([statement], [exception], 1_000).map(({ holds }) => holds)).toEqual([false])
})
