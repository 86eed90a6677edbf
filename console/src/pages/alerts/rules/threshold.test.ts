import { alertRules } from '@shoal/contract'
import { expect, test } from 'vitest'
import { parseThreshold } from './threshold.ts'

const bounds = { unit: 'blocks', initial: 500, min: 10, max: 10_000_000 } as const

test.each([
  ['500', 500],
  [' 10 ', 10],
  ['10,000,000', 10_000_000],
])('`%s` is parsed as the threshold %d', (text, value) => expect(parseThreshold(text, bounds)).toBe(value))

test.each(['', '9', '10000001', '12.5', '-20', '1e3', 'many'])(
  '`%s` is rejected with a message that contains the bounds',
  (text) => expect(parseThreshold(text, bounds)).toBe('A whole number from 10 to 10,000,000'),
)

test('default thresholds are within their bounds', () => {
  const thresholds = Object.values(alertRules).flatMap(({ threshold }) => threshold ?? [])
  const parsed = thresholds.map((threshold) => parseThreshold(String(threshold.initial), threshold))
  expect(parsed).toEqual(thresholds.map(({ initial }) => initial))
})
