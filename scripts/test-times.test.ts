import { expect, test } from 'vitest'
import { timeTable, type FileTime } from './test-times.ts'

const time = (project: string, file: string, startSeconds: number, endSeconds: number): FileTime => ({
  project,
  file,
  tests: 2,
  startedAtMs: startSeconds * 1000,
  endedAtMs: endSeconds * 1000,
})

test('files are sorted by duration, and the time of a project counts concurrent files only once', () => {
  const times = [
    time('server', 'a.test.ts', 0, 4),
    time('server', 'b.test.ts', 1, 6.5),
    time('e2e', 'c.test.ts', 7, 17),
  ]
  expect(timeTable(times)).toEqual([
    'Seconds per test file:',
    '    10.0  c.test.ts (e2e, 2 tests)',
    '     5.5  b.test.ts (server, 2 tests)',
    '     4.0  a.test.ts (server, 2 tests)',
    'Seconds per project, from its first test file to its last:',
    '     6.5  server: 2 files, 4 tests, 10 s summed over files',
    '    10.0  e2e: 1 file, 2 tests, 10 s summed over files',
    '    17.0  all: 3 files, 6 tests, 20 s summed over files',
  ])
})

test('only the slowest 40 files are listed, but the sums include all files', () => {
  const lines = timeTable(Array.from({ length: 50 }, (_, index) => time('unit', `${index}.test.ts`, 0, index + 1)))
  expect(lines[0]).toBe('Seconds per test file, the slowest 40 of 50:')
  expect(lines[1]).toContain('49.test.ts')
  expect(lines).toHaveLength(1 + 40 + 1 + 2)
  expect(lines.at(-1)).toContain('50 files, 100 tests, 1275 s summed over files')
})

test('a run without test files has no table', () => {
  expect(timeTable([])).toEqual([])
})
