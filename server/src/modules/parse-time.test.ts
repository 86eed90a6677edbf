import { expect, onTestFinished, test } from 'vitest'
import { parseTime } from './parse-time.ts'

test.each([
  ['2026-11-28T10:00:00Z', '2026-11-28T10:00:00.000Z'],
  ['2026-11-28T10:00:00+02:00', '2026-11-28T08:00:00.000Z'],
  ['2026-11-28T10:00:00', '2026-11-28T10:00:00.000Z'],
  ['2026-11-28T10:00', '2026-11-28T10:00:00.000Z'],
  ['2026-11-28', '2026-11-28T00:00:00.000Z'],
])('%s is %s, regardless of the time zone of the server', (text, time) => {
  const zone = process.env['TZ']
  onTestFinished(() => {
    if (zone === undefined) delete process.env['TZ']
    else process.env['TZ'] = zone
  })
  process.env['TZ'] = 'America/New_York'
  expect(new Date(parseTime('from', text)).toISOString()).toBe(time)
})

test('text that is not a time is refused with the name of its parameter', () => {
  expect(() => parseTime('from', '2026-13-45')).toThrow(/Must be an ISO time/)
})
