import { csvOf } from '@shoal/contract'
import { expect, test } from 'vitest'

test('a CSV export escapes spreadsheet formulas and leaves numbers unchanged', () => {
  const cells = [
    '=1+1',
    '+1',
    '-1',
    '-1.5',
    '@SUM(A1)',
    '\t=1',
    ' =1',
    '-cmd',
    'plain',
    'a;b',
    'say "x"',
    'two\nlines',
    '',
  ]
  const [line = ''] = csvOf([cells]).split('\r\n')
  expect(line.split(';').slice(0, 9)).toEqual([
    "'=1+1",
    "'+1",
    '-1',
    '-1.5',
    "'@SUM(A1)",
    `"'\t=1"`,
    "' =1",
    "'-cmd",
    'plain',
  ])
  expect(csvOf([['a;b', 'say "x"', 'two\nlines', '']])).toBe('"a;b";"say ""x""";"two\nlines";\r\n')
})
