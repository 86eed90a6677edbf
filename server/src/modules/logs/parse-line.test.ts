import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseContainers, isSelected, shownContainer } from './containers.ts'
import { levelName, levelsQueried } from './levels.ts'
import { joinStacks, parseLine, payloadOf } from './parse-line.ts'

const levelOf = (line: string) => levelName(parseLine(line).level)
const payload = (line: string) => payloadOf(parseLine(line), levelOf(line))

describe('a JSON line of the SDK', () => {
  test('is parsed into level, time, namespace and message', () => {
    const line = '{"level":3,"time":1763700000123,"ns":"sqd:processor","msg":"slow","url":"https://x"}'
    expect(parseLine(line)).toEqual({
      writtenAtMs: 1_763_700_000_123,
      level: 3,
      ns: 'sqd:processor',
      message: 'slow',
      fields: '{"url":"https://x"}',
    })
    expect(payload(line)).toEqual({ level: 'WARNING', ns: 'sqd:processor', msg: 'slow', url: 'https://x' })
  })

  test.each([
    [0, 'DEBUG'],
    [1, 'DEBUG'],
    [2, 'INFO'],
    [3, 'WARNING'],
    [4, 'ERROR'],
    [5, 'FATAL'],
    [50, 'ERROR'],
    ['"WARN"', 'WARNING'],
    ['"TRACE"', 'DEBUG'],
    ['"FATAL"', 'FATAL'],
    [99, 'INFO'],
    ['null', 'INFO'],
  ])('with level %s is %s', (level, name) => expect(levelOf(`{"level":${level},"msg":"x"}`)).toBe(name))

  test('with an error and no message shows the stack, which the public client would omit', () => {
    const stack = 'Error: boom\n    at main (/squid/lib/main.js:1:1)'
    const line = JSON.stringify({ level: 5, time: 1, ns: 'sqd:processor', err: { stack, code: 'E' } })
    expect(payload(line)).toEqual({ level: 'FATAL', ns: 'sqd:processor', msg: stack, err: { stack, code: 'E' } })
  })

  test('keeps every field of any type', () => {
    const record = fc.dictionary(
      fc.string().filter((key) => !['level', 'time', 'msg', 'ns', 'err', '__proto__'].includes(key)),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(record, fc.string({ minLength: 1 }), fc.string(), (fields, msg, ns) => {
        const read = payload(JSON.stringify({ level: 2, time: 5, ns, msg, ...fields }))
        const expected = JSON.parse(JSON.stringify({ level: 'INFO', ns, msg, ...fields }))
        expect(read).toEqual(JSON.parse(JSON.stringify(expected).replaceAll(String.raw`\u0000`, hasNul(ns + msg))))
      }),
    )
  })
})

/** Only in the message and the namespace, which have their own columns: Postgres text has no NUL. */
const hasNul = (text: string) => (text.includes('\0') ? '' : String.raw`\u0000`)

describe('a plain line', () => {
  test('is its own payload', () => {
    fc.assert(
      fc.property(
        fc.string().filter((line) => !line.startsWith('{')),
        (line) => {
          expect(payload(line)).toBe(line.replaceAll('\0', ''))
        },
      ),
      { examples: [['{"broken": '], ['{}'], ['[1]'], ['null'], ['']] },
    )
  })

  test.each([
    ['query: SELECT 1', 'INFO'],
    ['Error: boom', 'ERROR'],
    ["TypeError: Cannot read properties of undefined (reading 'x')", 'ERROR'],
    ['Uncaught Exception: x', 'ERROR'],
    ['    at Object.<anonymous> (/squid/lib/main.js:10:7)', 'ERROR'],
    ['[warn] slow', 'WARNING'],
    ['npm error code 1', 'ERROR'],
    ['npm notice New version', 'NOTICE'],
    ['(node:12) [DEP0040] DeprecationWarning: punycode', 'WARNING'],
    ['FATAL: out of memory', 'FATAL'],
    ['all errors were handled', 'INFO'],
    ['', 'INFO'],
  ])('%j is %s', (line, level) => expect(levelOf(line)).toBe(level))
})

describe('a stack', () => {
  const join = (lines: string[], max?: number) =>
    joinStacks(
      lines.map((text) => ({ text })),
      max,
    ).map(({ text }) => text)

  test('is joined with the line of its error', () => {
    const stack = ['Error: boom', '    at a (x.js:1:1) {', "  code: 'E'", '}']
    expect(join(['before', ...stack, '', 'Node.js v20.20.0'])).toEqual([
      'before',
      stack.join('\n'),
      '',
      'Node.js v20.20.0',
    ])
  })

  test('never loses or reorders lines', () => {
    const line = fc.constantFrom('a', '  at x', '    at f (y.js:1:2)', '}', '{"level":2}', '', '  indented')
    fc.assert(
      fc.property(fc.array(line), fc.integer({ min: 1, max: 40 }), (lines, max) => {
        expect(join(lines, max).join('\n')).toBe(lines.join('\n'))
      }),
    )
  })
})

describe('a filter', () => {
  test('with error includes more severe levels, and with debug the traces', () => {
    expect(levelsQueried(['ERROR']).map(levelName)).toEqual(['ERROR', 'CRITICAL', 'FATAL'])
    expect(levelsQueried(['FATAL', 'WARNING']).map(levelName)).toEqual(['FATAL', 'WARNING'])
    expect(levelsQueried(['NONSENSE'])).toEqual([])
  })

  test('accepts legacy names, and processor means all processors', () => {
    const filter = parseContainers(['query-node', 'processor'])
    expect(['api', 'init', 'db', 'eth', 'processor'].filter((name) => isSelected(filter, name))).toEqual([
      'api',
      'eth',
      'processor',
    ])
    expect(['api', 'api-2', 'api-12', 'api-x'].map(shownContainer)).toEqual(['api', 'api', 'api', 'api-x'])
  })
})
