import { expect, test } from 'vitest'
import {
  colorToken,
  drawnTimes,
  groupMarks,
  isolatedPoints,
  tsvOf,
  stacked,
  summaryOf,
  valueRange,
  type ChartSeries,
} from './chart-data.ts'

const series = (label: string, values: (number | null)[]): ChartSeries => ({ label, kind: 'bars', values })
const percent = (value: number) => `${value}%`

test('a summary has the last value and the range of each series, and ignores gaps', () => {
  const data = { times: [1, 2, 3], series: [series('API', [5, null, 40]), series('DB', [null, null, null])] }
  expect(summaryOf('CPU usage', data, percent)).toBe('CPU usage. API: 40% at the end, between 5% and 40%. DB: no data.')
})

test('a summary of many points does not overflow the stack', () => {
  const values = Array.from({ length: 200_000 }, (_, index) => index)
  expect(summaryOf('Blocks', { times: values, series: [series('eth', values)] }, String)).toContain(
    'between 0 and 199999',
  )
})

test('a summary of more than eight series reports how many it omits', () => {
  const many = Array.from({ length: 20 }, (_, index) => series(`line ${index}`, [1]))
  expect(summaryOf('CPU', { times: [1], series: many }, percent)).toMatch(/line 7: .*\. And 12 more, in the table\.$/)
})

test('an axis begins at zero and reaches at least its maximum, or begins near the lowest value', () => {
  expect(valueRange({ max: 100 }, 3, 40)).toEqual([0, 100])
  expect(valueRange({}, null, null)).toEqual([0, 1.05])
  expect(valueRange({}, 0, 0)).toEqual([0, 1])
  expect(valueRange({ isFromLowest: true }, 1000, 1100)).toEqual([995, 1105])
  expect(valueRange({ isFromLowest: true }, 7, 7)).toEqual([6, 8])
})

test('each stacked series is added to those below it, and zero draws no bar', () => {
  expect(stacked([series('valid', [1, null, 3]), series('invalid', [2, 2, 0])])).toEqual([
    [1, null, 3],
    [3, 2, null],
  ])
})

test('series have the six colours in order, then again from the first', () => {
  expect([0, 5, 6].map((index) => colorToken(series('x', []), index))).toEqual(['chart-1', 'chart-6', 'chart-1'])
  expect(colorToken({ ...series('x', []), color: 4 }, 0)).toBe('chart-4')
})

test('a value with gaps on both sides is drawn as a point', () => {
  expect(isolatedPoints([null, 5, null, 4, 3, null, 0])).toEqual([1, 6])
  expect(isolatedPoints([7])).toEqual([0])
  expect(isolatedPoints([1, 2])).toEqual([])
})

test('the value of a bucket is drawn in its middle', () => {
  expect(drawnTimes({ times: [0, 60], series: [], bucketSeconds: 60 })).toEqual([30, 90])
  expect(drawnTimes({ times: [0, 60], series: [] })).toEqual([0, 60])
})

test('the copied table has exact numbers, and empty cells for gaps', () => {
  const data = { times: [0, 60], series: [series('API', [0.123456, null]), series('DB', [null, 0])] }
  expect(tsvOf(data)).toBe('Time\tAPI\tDB\n1970-01-01T00:00:00.000Z\t0.123456\t\n1970-01-01T00:01:00.000Z\t\t0')
})

test('marks that would overlap are merged', () => {
  const [a, b, c] = [10, 30, 12].map((timeSeconds) => ({ timeSeconds, label: `at ${timeSeconds}` }))
  if (!a || !b || !c) throw new Error('expected three marks')
  expect(groupMarks([a, b, c], (seconds) => seconds * 2, 10)).toEqual([
    { x: 20, marks: [a, c] },
    { x: 60, marks: [b] },
  ])
})
