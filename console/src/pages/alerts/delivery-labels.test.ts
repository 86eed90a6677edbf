import { expect, test } from 'vitest'
import { nextAttemptText } from './delivery-labels.ts'

test('an attempt that is due is not in the past', () => {
  const at = '2026-11-29T10:00:00.000Z'
  expect(nextAttemptText(at, Date.parse(at) - 120_000)).toBe('Next attempt in 2 min')
  expect(nextAttemptText(at, Date.parse(at) + 3000)).toBe('Next attempt soon')
})
