import { expect, test } from 'vitest'
import { fromLocalInput, toLocalInput } from './local-time.ts'

test('formatting and parsing a time for an input keeps it to the minute', () => {
  const date = new Date('2026-03-29T01:30:00.000Z')
  expect(fromLocalInput(toLocalInput(date))).toBe(date.toISOString())
})

test('an incomplete input has no time', () => expect(fromLocalInput('')).toBeNull())
