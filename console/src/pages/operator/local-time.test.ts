import { expect, test } from 'vitest'
import { fromLocalInput, toLocalInput } from './local-time.ts'

test('a time that is formatted for an input and parsed again is the same to the minute', () => {
  const date = new Date('2026-03-29T01:30:00.000Z')
  expect(fromLocalInput(toLocalInput(date))).toBe(date.toISOString())
})

test('an incomplete input is parsed as null', () => expect(fromLocalInput('')).toBeNull())
