import type { IngressPoint, UsagePoint } from '@shoal/contract'
import { expect, test } from 'vitest'
import { isWithoutValues, type ChartData } from '../../components/chart/chart-data.ts'
import { cpuChart, latencyChart, memoryChart, totalsOf, trafficChart } from './charts.ts'
import { axisFormats } from './ranges.ts'

const hour = (n: number) => `2026-09-02T0${n}:00:00.000Z`
const latency = { p50: 12, p90: 40, p95: 55, p99: 180 }
const noLatency = { p50: null, p90: null, p95: null, p99: null }
const ingressPoint = (n: number, valid: string, invalid: string): IngressPoint => ({
  ts: hour(n),
  success: { count: valid, bytesSend: '0', latency: valid === '0' ? noLatency : latency },
  error: { count: invalid, bytesSend: '0' },
})
const noUsage: UsagePoint = {
  ts: hour(1),
  apiCpuUsage: null,
  dbCpuUsage: null,
  processorCpuUsage: null,
  apiMemUsageMb: null,
  dbMemUsageMb: null,
  processorMemUsageMb: null,
  apiCpuRequested: null,
  processorCpuRequested: null,
  apiMemRequestedMb: null,
  processorMemRequestedMb: null,
  dbDiskUsedBytes: null,
  dbDiskRequestedBytes: null,
}
const values = (data: ChartData) => Object.fromEntries(data.series.map((series) => [series.label, series.values]))

test('a bucket without requests is zero in the traffic chart and a gap in the latency chart', () => {
  const ingress = {
    timeGroup: 'Hour' as const,
    metrics: [ingressPoint(1, '3', '1'), ingressPoint(2, '0', '0'), ingressPoint(3, '9', '0')],
  }
  expect(values(trafficChart(ingress))).toEqual({ Valid: [3, 0, 9], Invalid: [1, 0, 0] })
  expect(totalsOf(ingress)).toEqual({ valid: 12, invalid: 1 })
  expect(values(latencyChart(ingress))).toEqual({
    P50: [12, null, 12],
    P90: [40, null, 40],
    P95: [55, null, 55],
    P99: [180, null, 180],
  })
  expect(trafficChart(ingress)).toMatchObject({ times: [1, 2, 3].map((n) => Date.parse(hour(n)) / 1000) })
})

test('the charts of requests are empty if no bucket has requests', () => {
  const ingress = { timeGroup: 'Day' as const, metrics: [ingressPoint(1, '0', '0')] }
  expect([trafficChart(ingress), latencyChart(ingress)].map(isWithoutValues)).toEqual([true, true])
})

test('a bucket without samples is a gap, and only known limits are drawn', () => {
  const usagePoint = {
    ...noUsage,
    ts: hour(2),
    apiCpuUsage: 0.25,
    apiCpuRequested: 1,
    dbCpuUsage: 0,
    processorMemUsageMb: 75,
  }
  const usage = { timeGroup: 'Hour' as const, metrics: [noUsage, usagePoint] }
  expect(values(cpuChart(usage))).toEqual({
    API: [null, 0.25],
    DB: [null, 0],
    Processor: [null, null],
    'API limit': [null, 1],
  })
  expect(values(memoryChart(usage))).toEqual({ API: [null, null], DB: [null, null], Processor: [null, 75] })
})

test('the axis shows days and months in UTC, without a time', () => {
  const ms = Date.parse('2026-09-01T00:00:00.000Z')
  expect([axisFormats.Day(ms), axisFormats.Month(ms)]).toEqual(['01.09', 'Sep 2026'])
  for (const group of ['Minute', 'Hour'] as const) expect(axisFormats[group](ms)).toMatch(/^\d\d\.\d\d \d\d:\d\d$/)
  expect(cpuChart({ timeGroup: 'Day', metrics: [noUsage] }).isUtc).toBe(true)
  expect(cpuChart({ timeGroup: 'Hour', metrics: [noUsage] }).isUtc).toBe(false)
})
