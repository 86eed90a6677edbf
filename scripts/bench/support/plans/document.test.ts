import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../../root.ts'
import { tableOf, withTable } from './document.ts'
import type { Judged } from './judge.ts'

const judged = (caller: string, overrides: Partial<Judged> = {}): Judged => {
  const cost = { read: 1_000, returned: 10, aggregated: 900, pages: 5, scanned: [] }
  const base = { caller, statement: 'select', executions: 1, totalMs: 1, cost, aggregateCost: cost }
  return { ...base, maxRead: 300, aggregate: null, exception: null, isWithinLimit: true, ...overrides }
}

test('the table adds up the statements of each loop, of each area of the API, and of all jobs', () => {
  const aggregate = { statement: 'select', reason: 'sums' }
  const statements = [
    judged('squids.list'),
    judged('squids.get', { aggregate }),
    judged('job a'),
    judged('job b'),
    judged('alerts'),
  ]
  const lines = tableOf(statements, 10_000, '2026-01-01').split('\n')
  expect(lines[0]).toContain('Run on 2026-01-01 with 10,000 versions: 5 statements, of which none read')
  expect(lines.slice(4)).toEqual([
    '| alerts | 1 | 1,000 | 10 | 0 | 0 | 0 |',
    '| API squids | 2 | 2,000 | 20 | 900 | 1 | 0 |',
    '| jobs | 2 | 2,000 | 20 | 0 | 0 | 0 |',
    '| all | 5 | 5,000 | 50 | 900 | 1 | 0 |',
  ])
  expect(tableOf([judged('alerts', { isWithinLimit: false })], 1, '2026-01-01')).toContain(
    'of which 1 read more than they may',
  )
})

test('docs/benchmarks.md has a place for the table, and keeps the rest', () => {
  const page = readFileSync(join(root, 'docs/benchmarks.md'), 'utf8')
  const changed = withTable(page, 'TABLE 1')
  expect(withTable(changed, 'TABLE 2')).toBe(changed.replace('TABLE 1', 'TABLE 2'))
  expect(changed.startsWith('# Benchmarks\n')).toBe(true)
  const end = '\n\n<!-- End of the generated part. -->\n\n'
  expect(changed).toContain(`TABLE 1${end}`)
  expect(changed.split(end)[1]).toBe(page.split(end)[1])
  expect(() => withTable('# Another page', 'TABLE 1')).toThrow('has no place for the table')
})
