import { expect, test } from 'vitest'
import { isSameFilter, isSavedFilter, labelOfSaved, savedFilterOf, searchOfSaved } from './saved-filters.ts'

test('filters are saved without the linked line and the order, and replace all other filters when applied', () => {
  const search = { container: ['eth', 'base'], search: ' timeout', line: '7', order: 'desc' }
  const saved = savedFilterOf(search)
  expect(saved).toEqual({ container: ['base', 'eth'], search: ' timeout' })
  expect(savedFilterOf({ container: [], search: '' })).toBeNull()
  expect(searchOfSaved({ level: ['ERROR'] })).toEqual({
    container: undefined,
    level: ['ERROR'],
    search: undefined,
    range: undefined,
    from: undefined,
    to: undefined,
  })
  expect(isSameFilter({ container: ['a'] }, { container: ['a'] })).toBe(true)
  expect(isSameFilter({ container: ['a'] }, { level: ['a'] })).toBe(false)
})

test('the label of a saved filter lists what it selects', () => {
  expect(labelOfSaved({ container: ['eth'], level: ['ERROR', 'WARNING'], search: 'timeout', range: '1h' })).toBe(
    'eth · Error, Warning · "timeout" · Last hour',
  )
  expect(labelOfSaved({ container: ['@build'] })).toBe('Build')
  expect(labelOfSaved({ from: '2026-09-02T12:00:00.000Z' })).toBe('2026-09-02T12:00 to … UTC')
})

test('values with invalid or unknown fields are not saved filters', () => {
  for (const value of [null, 7, 'text', { container: 'eth' }, { search: ['a'] }, { line: '7' }])
    expect(isSavedFilter(value)).toBe(false)
  expect(isSavedFilter({ container: ['eth'], search: 'a' })).toBe(true)
})
