import { expect, test } from 'vitest'
import { requestsChart } from './requests-chart.ts'

const metric = (hour: number, method: string, requests: number) => ({
  ts: `2026-09-01T0${hour}:00:00.000Z`,
  method,
  requests,
  failures: 0,
})

test('hours without requests are zero, methods are sorted by requests, and all but the first five are merged', () => {
  const rareMethods = ['a', 'b', 'c', 'd', 'e'].map((method) => metric(3, method, 2))
  const metrics = [metric(1, 'eth_call', 5), metric(1, 'eth_getLogs', 7), metric(3, 'eth_getLogs', 1), ...rareMethods]
  const { times, series } = requestsChart({ timeGroup: 'Hour', metrics }, Date.parse('2026-09-01T03:59:59Z'))
  expect([...times].map((s) => new Date(s * 1000).toISOString()).slice(-3)).toEqual(
    [1, 2, 3].map((hour) => metric(hour, '', 0).ts),
  )
  expect(times).toHaveLength(7 * 24 + 1)
  expect(series.map(({ label, values }) => [label, values.slice(-3)])).toEqual([
    ['eth_getLogs', [7, 0, 1]],
    ['eth_call', [5, 0, 0]],
    ['a', [0, 0, 2]],
    ['b', [0, 0, 2]],
    ['c', [0, 0, 2]],
    ['Other', [0, 0, 4]],
  ])
})

test('the chart is empty without requests', () => {
  expect(requestsChart({ timeGroup: 'Hour', metrics: [] }, 0)).toEqual({ times: [], series: [] })
})
