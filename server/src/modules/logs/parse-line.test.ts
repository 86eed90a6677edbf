import { gapContainer } from '@shoal/contract'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseContainers, isSelected, displayedContainer } from './containers.ts'
import { levelName, parseLevels } from './levels.ts'
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
    // Properties that every object has.
    ['"constructor"', 'INFO'],
    ['"__proto__"', 'INFO'],
  ])('with level %s is %s', (level, name) => expect(levelOf(`{"level":${level},"msg":"x"}`)).toBe(name))

  test('with an error and no message shows the stack, which the public client would omit', () => {
    const stack = 'Error: boom\n    at main (/squid/lib/main.js:1:1)'
    const line = JSON.stringify({ level: 5, time: 1, ns: 'sqd:processor', err: { stack, code: 'E' } })
    expect(payload(line)).toEqual({ level: 'FATAL', ns: 'sqd:processor', msg: stack, err: { stack, code: 'E' } })
  })

  test('keeps all fields, of any type', () => {
    const record = fc.dictionary(
      fc.string().filter((key) => !['level', 'time', 'msg', 'ns', 'err', '__proto__'].includes(key)),
      fc.jsonValue(),
    )
    fc.assert(
      fc.property(record, fc.string({ minLength: 1 }), fc.string(), (fields, msg, ns) => {
        const actual = payload(JSON.stringify({ level: 2, time: 5, ns, msg, ...fields }))
        const expected = JSON.parse(JSON.stringify({ level: 'INFO', ns, msg, ...fields }))
        expect(actual).toEqual(
          JSON.parse(JSON.stringify(expected).replaceAll(String.raw`\u0000`, nulReplacement(ns + msg))),
        )
      }),
    )
  })
})

/** The message and the namespace lose their NULs, because they have text columns, and Postgres text cannot contain NUL. */
const nulReplacement = (text: string) => (text.includes('\0') ? '' : String.raw`\u0000`)

describe('a plain line', () => {
  test('has its text as payload', () => {
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

describe('the joining of stack traces', () => {
  const join = (lines: string[], max?: number) =>
    joinStacks(
      lines.map((text) => ({ text })),
      max,
    ).map(({ text }) => text)

  test('makes one entry of a stack trace and the line of its error', () => {
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

describe('a hostile line', () => {
  test('keeps its colours and loses all other control characters and escape sequences', () => {
    const colored = '\u001b[1;31mERROR\u001b[0m\tindented'
    expect(parseLine(colored).message).toBe(colored)
    const hostile = [
      '\u001b[2J\u001b[1;1H',
      '\u001b]0;title\u0007',
      '\u001b]52;c;aGVsbG8=\u001b\\',
      '\u009b2J',
      '\u001bc',
      '\u001b[?1049h',
      '\0\r\b',
    ]
    for (const control of hostile) expect(parseLine(`a${control}b`).message.replace(/^a(2J)?b$/, 'ab')).toBe('ab')
    expect(parseLine('{"msg":"a\\u001b[2Jb\\u0000","ns":"\\u001b]0;x\\u0007ns"}')).toMatchObject({
      message: 'ab',
      ns: 'ns',
    })
  })

  test('of incomplete escape sequences takes little time', () => {
    const startedMs = performance.now()
    for (const part of ['\u001b]', '\u001b[', '\u001b[0', '\u001b', '\u001bP'])
      parseLine(`${part.repeat(65_536 / part.length)}end`)
    // Quadratic time would be several seconds.
    expect(performance.now() - startedMs).toBeLessThan(1000)
  })

  test.each([100, 3_000, 30_000])('of JSON %i levels deep is stored as text', (depth) => {
    const text = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(parseLine(text)).toMatchObject({ message: text, fields: null })
  })

  test('of JSON with few levels keeps its fields', () => {
    expect(parseLine(`{"msg":"x","a":${'['.repeat(20)}${']'.repeat(20)}}`)).toMatchObject({ message: 'x' })
  })
})

describe('a filter', () => {
  test('for errors includes more severe levels; unknown levels match nothing', () => {
    expect(parseLevels(['ERROR']).map(levelName)).toEqual(['ERROR', 'CRITICAL', 'FATAL'])
    expect(parseLevels(['FATAL', 'WARNING']).map(levelName)).toEqual(['FATAL', 'WARNING'])
    expect(parseLevels(['NONSENSE', 'constructor'])).toEqual([])
  })

  test('accepts legacy container names, and `processor` selects all processors', () => {
    const filter = parseContainers(['query-node', 'processor'])
    expect(['api', 'init', 'db', 'eth', 'processor'].filter((name) => isSelected(filter, name))).toEqual([
      'api',
      'eth',
      'processor',
    ])
    expect(isSelected(filter, gapContainer)).toBe(true)
    expect(isSelected(parseContainers(['constructor']), 'constructor')).toBe(true)
    expect(['api', 'api-2', 'api-12', 'api-x'].map(displayedContainer)).toEqual(['api', 'api', 'api', 'api-x'])
  })
})
