import { expect, test } from 'vitest'
import { byImportance, changeOf, countLines, hunksOf, type ChangedFile } from './hunks.ts'

const side = (text: string | null) => ({ bytes: text?.length ?? 100, text })
const file = (before: string | null | undefined, after: string | null | undefined, path = 'a.ts'): ChangedFile => ({
  path,
  before: before === undefined ? null : side(before),
  after: after === undefined ? null : side(after),
})

test('the lines that differ are numbered, with three lines of context', () => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`)
  const hunks = hunksOf(file(lines.join('\n'), lines.with(9, 'other').join('\n'))) ?? []
  expect(hunks).toHaveLength(1)
  expect(hunks[0]?.lines).toHaveLength(8)
  expect(hunks[0]?.lines[0]).toEqual({ kind: 'same', before: 7, after: 7, text: 'line 7' })
  expect(hunks[0]?.lines.filter(({ kind }) => kind !== 'same')).toEqual([
    { kind: 'removed', before: 10, after: null, text: 'line 10' },
    { kind: 'added', before: null, after: 10, text: 'other' },
  ])
  expect(countLines(hunks)).toEqual({ added: 1, removed: 1 })
})

test('a new file consists of added lines, a removed one of removed lines, and a binary has none', () => {
  expect(countLines(hunksOf(file(undefined, 'a\nb\n')) ?? [])).toEqual({ added: 2, removed: 0 })
  expect(countLines(hunksOf(file('a\nb', undefined)) ?? [])).toEqual({ added: 0, removed: 2 })
  expect(hunksOf(file(null, 'text'))).toBeNull()
  expect([file(undefined, ''), file('', undefined), file('', 'a')].map(changeOf)).toEqual([
    'added',
    'removed',
    'changed',
  ])
})

test('texts with too many differences are not compared', () => {
  const many = (prefix: string) => Array.from({ length: 20_000 }, (_, i) => `${prefix}${i}`).join('\n')
  expect(hunksOf(file(many('a'), many('b')))).toBeNull()
})

test('the manifest and package.json are first, and binaries last', () => {
  const paths = ['assets/logo.png', 'src/main.ts', 'package.json', 'abi/a.json', 'squid.yaml']
  const files = paths.map((path) => file('', path.endsWith('png') ? null : 'a', path))
  expect(byImportance(files).map(({ path }) => path)).toEqual([
    'squid.yaml',
    'package.json',
    'abi/a.json',
    'src/main.ts',
    'assets/logo.png',
  ])
})
