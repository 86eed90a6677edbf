import { expect, test } from 'vitest'
import { splitAtMatches } from '../../../components/split-at-matches.ts'
import { plainLine, textOf, withoutAnsi } from './line-text.ts'

test('ANSI colours and other escape sequences are removed', () => {
  expect(withoutAnsi('\u001b[32mready\u001b[0m in \u001b[1;38;5;200m41 ms\u001b[22m')).toBe('ready in 41 ms')
  expect(withoutAnsi('\u001b]8;;https://example.com\u0007link\u001b]8;;\u0007 \u001b[2Kdone')).toBe('link done')
  expect(withoutAnsi('[32m without escape')).toBe('[32m without escape')
})

test('removing incomplete escape sequences from a long line does not take quadratic time', () => {
  const startedMs = performance.now()
  expect(withoutAnsi(`${'\u001b]'.repeat(128_000)}end`)).toContain('end')
  // Quadratic time would be about a minute.
  expect(performance.now() - startedMs).toBeLessThan(10_000)
})

test('the namespace, the message and the fields of a structured line are separated', () => {
  expect(textOf({ payload: 'plain' })).toEqual({ ns: '', message: 'plain', fields: null })
  const payload = { level: 'INFO', ns: 'sqd:rpc', msg: 'slow', url: 'https://a.dev' }
  expect(textOf({ payload })).toEqual({ ns: 'sqd:rpc', message: 'slow', fields: { url: 'https://a.dev' } })
  const line = { id: '1', timestamp: '2026-09-02T12:00:00.000Z', level: 'WARNING' as const, container: 'eth', payload }
  expect(plainLine(line)).toBe('2026-09-02T12:00:00.000Z WARNING eth sqd:rpc slow {"url":"https://a.dev"}')
})

test('text is split so that the matches are at odd indexes, in their original case', () => {
  expect(splitAtMatches('a Needle, a needle', 'needle')).toEqual(['a ', 'Needle', ', a ', 'needle', ''])
  expect(splitAtMatches('1 (a.b) 2', '(a.b)')).toEqual(['1 ', '(a.b)', ' 2'])
  expect(splitAtMatches('anything', '')).toEqual(['anything'])
})
