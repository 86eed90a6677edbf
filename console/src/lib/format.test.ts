import { describe, expect, test } from 'vitest'
import * as format from './format.ts'
import { formatUtcDate, formatUtcDayMonth, formatUtcMonth } from './utc-dates.ts'

const noon = new Date(2026, 8, 2, 12, 3, 9)
const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

describe('numbers (spec 9)', () => {
  test.each([
    [0, '0'],
    [96, '96'],
    [860_000, '860K'],
    [1_284_000, '1.28M'],
    [2_500_000_000, '2.5B'],
  ])('count %d', (count, text) => expect(format.formatCount(count)).toBe(text))

  test.each([
    ['76.8', '$76.80'],
    ['0.02198892', '$0.02'],
    [-7.1424, '-$7.14'],
    [-0.0004, '$0.00'],
  ])('amount %s to the cent', (amountUsd, text) => expect(format.formatCents(amountUsd)).toBe(text))

  test('the digits of integers are grouped by thousands', () =>
    expect(format.formatInteger(23_881_204)).toBe('23,881,204'))
  test('a noun is in the singular only for one', () => {
    expect(format.countOf(0, 'version')).toBe('0 versions')
    expect(format.countOf(1, 'version')).toBe('1 version')
    expect(format.countOf(1204, 'version')).toBe('1,204 versions')
    expect(format.countOf(0.5, 'core', format.formatDecimal)).toBe('0.5 cores')
  })
  test('decimals have at most three fraction digits', () => expect(format.formatDecimal(1.203_96)).toBe('1.204'))
  test('percentages have two fraction digits', () => {
    expect(format.formatPercent(0.682_14)).toBe('68.21%')
    expect(format.formatPercent(1)).toBe('100.00%')
  })
  test('amounts have up to eight fraction digits', () => {
    expect(format.formatAmount(0.000_000_012_3)).toBe('0.00000001')
    expect(format.formatUsd(76.8)).toBe('$76.80')
    expect(format.formatUsd(0.003_333_333_33)).toBe('$0.00333333')
    expect(format.formatHourlyUsd('0.03233333')).toBe('$0.0323')
    expect(format.formatHourlyUsd('1.5')).toBe('$1.50')
  })
  test('numbers of RPC requests are in millions with four decimals', () =>
    expect(format.formatMillions(1_234_567)).toBe('1.2346M'))
})

describe('sizes', () => {
  test.each([
    [0, '0 B'],
    [1023, '1,023 B'],
    [1024, '1 KB'],
    [9.1 * 1024 ** 3, '9.1 GB'],
  ])('%d bytes', (bytes, text) => expect(format.formatBytes(bytes)).toBe(text))
  test('megabytes become gigabytes from 1024 on', () => {
    expect(format.formatMegabytes(512)).toBe('512 MB')
    expect(format.formatMegabytes(1536)).toBe('1.5 GB')
  })
})

describe('durations', () => {
  test.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1 s'],
    [24_100, '24 s'],
    [125_000, '125 s'],
  ])('%d ms', (elapsedMs, text) => expect(format.formatDuration(elapsedMs)).toBe(text))
})

describe('dates', () => {
  test('dates are dd.MM.yyyy, and times HH:mm:ss', () => {
    expect(format.formatDate(noon)).toBe('02.09.2026')
    expect(format.formatDateTime(noon)).toBe('02.09.2026 12:03:09')
    expect(format.formatTime(noon.toISOString())).toBe('12:03:09')
  })
  test('times on a chart axis of at most a day are HH:mm, otherwise dd.MM HH:mm', () => {
    expect(format.formatChartTime(noon, day)).toBe('12:03')
    expect(format.formatChartTime(noon, day + 1)).toBe('02.09 12:03')
    expect(format.formatDayMonth(noon)).toBe('02.09')
    expect(format.formatDayMonthTime(noon)).toBe('02.09 12:03')
  })
  test('days and months in UTC are formatted in UTC', () => {
    const midnight = '2026-09-01T00:00:00.000Z'
    expect(formatUtcDate(midnight)).toBe('01.09.2026')
    expect(formatUtcDayMonth(midnight)).toBe('01.09')
    expect(formatUtcMonth(midnight)).toBe('Sep 2026')
  })
  test.each([
    [0, 'now'],
    [3 * second, '3 s ago'],
    [18 * minute + 59 * second, '18 min ago'],
    [5 * hour, '5 h ago'],
    [day, '1 day ago'],
    [3 * day, '3 days ago'],
    [-2 * day, 'in 2 days'],
    [7 * day, '26.08.2026'],
  ])('%d ms ago', (agoMs, text) => expect(format.formatRelative(noon.getTime() - agoMs, noon.getTime())).toBe(text))
})
