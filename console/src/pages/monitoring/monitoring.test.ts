import type { MonitoringSeries } from '@shoal/contract'
import { expect, test } from 'vitest'
import { monitoringResultOf, type MonitoringResult } from './result.ts'
import { charts } from './charts.ts'
import { nextTags, timeSpanOf, timeframes, timesOf, zoomTo } from './filters.ts'
import { chartDataOf, filterLines, filterToSelected, firstValueAt, lineStylesOf, typeOf } from './lines.ts'

const apiSeries = (
  squid: string,
  container: string,
  tags = '',
  values: (number | null)[] = [1, null, 3],
): MonitoringSeries => ({
  labels: { squid_id: '1', squid_name: squid, container, squid_tags: tags },
  values: values.map((v, index) => ({ t: index * 60, v })),
})
const result = (...series: MonitoringSeries[]): MonitoringResult => monitoringResultOf(series, 180_000)
const ids = (lines: readonly { id: string }[]) => lines.map(({ id }) => id)

test('the eight charts have the order, heights, maxima and texts of the specification', () => {
  expect(charts.map(({ query, heightPx }) => [query, heightPx])).toEqual([
    ['crashes', 200],
    ['oom_kills', 200],
    ['cpu_utilization', 250],
    ['cpu_trotting', 250],
    ['mem_utilization', 250],
    ['disk_utilization', 250],
    ['indexed_blocks', 250],
    ['indexed_height', 250],
  ])
  const bounded = charts.filter(({ scale }) => scale.max === 100 && scale.threshold?.value === 95)
  expect(bounded.map(({ query }) => query)).toEqual(['cpu_trotting', 'disk_utilization'])
  expect(charts.filter(({ scale }) => scale.max ?? scale.threshold)).toEqual(bounded)
  expect([...new Set(charts.map(({ emptyText }) => emptyText))]).toEqual([
    'No crashes for the selected time range.',
    'No OOMs detected for the selected time range.',
    'No data available for the selected time range',
  ])
})

test('the default timeframe is 24 hours, and an invalid zoom is ignored', () => {
  expect(timeframes.map(({ label }) => label)).toEqual(['Last hour', '6h', '12h', '24h', '2 days', '7 days'])
  const now = Date.parse('2026-09-02T14:00Z')
  const { fromMs, toMs } = timesOf(timeSpanOf({}), now)
  expect([now - fromMs, now - toMs]).toEqual([86_400_000, 0])
  const from = '2026-09-02T12:00:00.000Z'
  const to = '2026-09-02T13:00:00.000Z'
  expect(timesOf(timeSpanOf({ timeframe: '7d', from, to }), now)).toEqual({
    fromMs: now - 7_200_000,
    toMs: now - 3_600_000,
  })
  for (const invalidZoom of [{ from }, { to }, { from: to, to: from }, { from: 'now', to }])
    expect(timeSpanOf({ timeframe: '2d', ...invalidZoom })).toEqual({ timeframe: '2d' })
})

test('a dragged range becomes URL parameters that span at least two minutes', () => {
  expect(zoomTo(600, 1200)).toEqual({ from: '1970-01-01T00:10:00.000Z', to: '1970-01-01T00:20:00.000Z' })
  expect(zoomTo(600, 610)).toEqual({ from: '1970-01-01T00:09:05.000Z', to: '1970-01-01T00:11:05.000Z' })
})

test('all tags and single tags exclude each other, and an empty selection is ignored', () => {
  expect(nextTags(['*'], ['*', 'dev'])).toEqual(['dev'])
  expect(nextTags(['dev'], ['dev', '*'])).toEqual(['*'])
  expect(nextTags(['dev'], ['dev', 'prod'])).toEqual(['dev', 'prod'])
  expect(nextTags(['dev'], [])).toEqual([])
  expect(nextTags([], ['*'])).toEqual(['*'])
})

test('lines are sorted by version and container, and up to 24 lines have different styles', () => {
  const processors = Array.from({ length: 24 }, (_, index) => apiSeries('b@v10', `p${index}`))
  const lines = lineStylesOf([
    result(apiSeries('b@v2', 'eth'), apiSeries('b@v2', 'db')),
    undefined,
    result(apiSeries('b@v2', 'api'), apiSeries('a@v1', 'api-2')),
  ])
  expect(ids(lines)).toEqual(['a@v1 api-2', 'b@v2 api', 'b@v2 db', 'b@v2 eth'])
  const many = lineStylesOf([result(...processors)])
  expect(new Set(many.map(({ color, dash }) => `${color} ${dash}`)).size).toBe(24)
  expect(ids(lineStylesOf([result(apiSeries('b@v10', 'api'), apiSeries('b@v9', 'api'))]))).toEqual([
    'b@v9 api',
    'b@v10 api',
  ])
})

test('filters select a container type and any of the tags; untagged versions match only if no tag is selected', () => {
  const lines = lineStylesOf([
    result(
      apiSeries('a@v1', 'api', 'dev,prod'),
      apiSeries('a@v1', 'eth', 'dev,prod'),
      apiSeries('b@v1', 'db', 'old'),
      apiSeries('c@v1', 'api'),
    ),
  ])
  expect(['api', 'api-2', 'db', 'hasura-2', 'api-gateway', 'eth'].map(typeOf)).toEqual([
    'api',
    'api',
    'db',
    'hasura',
    'processor',
    'processor',
  ])
  expect(ids(filterLines(lines, { type: 'all', tags: ['*'] }))).toHaveLength(4)
  expect(ids(filterLines(lines, { type: 'processor', tags: ['*'] }))).toEqual(['a@v1 eth'])
  expect(ids(filterLines(lines, { type: 'all', tags: ['prod', 'old'] }))).toEqual(['a@v1 api', 'a@v1 eth', 'b@v1 db'])
  expect(ids(filterToSelected(lines, 'a@v1'))).toEqual(['a@v1 api', 'a@v1 eth'])
  expect(ids(filterToSelected(lines, 'b@v1 db'))).toEqual(['b@v1 db'])
  expect(filterToSelected(lines, 'deleted@v1')).toBe(lines)
})

test('a chart draws the shown lines with their gaps and can omit an incomplete last bucket', () => {
  const series = [apiSeries('a@v1', 'eth'), apiSeries('a@v1', 'api'), apiSeries('', 'eth')]
  const allSeries = result(...series)
  const shownLines = lineStylesOf([allSeries]).filter(({ container }) => container === 'eth')
  const values = (of: MonitoringResult, omitsIncompletePoint: boolean) =>
    chartDataOf(of, { kind: 'line', omitsIncompletePoint }, shownLines).series.map((line) => line.values)
  expect(values(allSeries, true)).toEqual([[1, null, 3]])
  expect(values(monitoringResultOf(series, 179_999), true)).toEqual([[1, null, null]])
  expect(values(monitoringResultOf(series, 179_999), false)).toEqual([[1, null, 3]])
})

test('firstValueAt returns the time of the first value of the shown lines that is not zero', () => {
  const crashes = result(apiSeries('a@v1', 'eth', '', [0, 0, 0]))
  const usage = result(apiSeries('a@v1', 'eth', '', [null, 2, 3]), apiSeries('b@v1', 'eth', '', [1, 2, 3]))
  const shown = lineStylesOf([crashes])
  expect(firstValueAt([crashes, undefined, usage], shown)).toBe(60)
  expect(firstValueAt([crashes], shown)).toBeNull()
})
