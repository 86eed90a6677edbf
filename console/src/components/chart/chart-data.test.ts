import { expect, test } from 'vitest'
import { colorToken, stacked, summaryOf, type ChartSeries } from './chart-data.ts'

const series = (label: string, values: (number | null)[]): ChartSeries => ({ label, kind: 'bars', values })
const percent = (value: number) => `${value}%`

test('a summary says where each line ends and how far it went, without the gaps', () => {
  const data = { times: [1, 2, 3], series: [series('API', [5, null, 40]), series('DB', [null, null, null])] }
  expect(summaryOf('CPU usage', data, percent)).toBe('CPU usage. API: 40% at the end, between 5% and 40%. DB: no data.')
})

test('a summary of many points does not run out of stack', () => {
  const values = Array.from({ length: 200_000 }, (_, index) => index)
  expect(summaryOf('Blocks', { times: values, series: [series('eth', values)] }, String)).toContain(
    'between 0 and 199999',
  )
})

test('stacked series stand on each other', () => {
  expect(stacked([series('valid', [1, null, 3]), series('invalid', [2, 2, null])])).toEqual([
    [1, 0, 3],
    [3, 2, 3],
  ])
})

test('colours are given out in order and begin again', () => {
  expect([0, 5, 6].map((index) => colorToken(series('x', []), index))).toEqual(['chart-1', 'chart-6', 'chart-1'])
  expect(colorToken({ ...series('x', []), color: 4 }, 0)).toBe('chart-4')
})
