import { expect, test } from 'vitest'
import { requestOverheadBytes, MemoryBudget } from './memory-budget.ts'

test('when memory is full, requests of the organization that uses the most are evicted', () => {
  const budget = new MemoryBudget(10 * requestOverheadBytes)
  const evicted: string[] = []
  const reserve = (org: string, name: string) => budget.reserve(org, 0, () => evicted.push(name))
  for (let i = 0; i < 20; i++) reserve('flood', `flood ${i}`)
  expect(evicted).toEqual([])
  const releases = ['a', 'b', 'c'].map((name) => reserve('other', name))
  expect(releases).not.toContain(null)
  expect(evicted).toEqual(['flood 9', 'flood 8', 'flood 7'])
  expect(reserve('flood', 'more')).toBeNull()
  for (const release of releases) release?.()
  expect(reserve('flood', 'again')).not.toBeNull()
})

test('two organizations get half of the memory each', () => {
  const budget = new MemoryBudget(10 * requestOverheadBytes)
  const reserved = { first: 0, second: 0 }
  for (const org of ['first', 'second'] as const)
    for (let i = 0; i < 20; i++) if (budget.reserve(org, 0, () => reserved[org]--)) reserved[org]++
  expect(reserved).toEqual({ first: 5, second: 5 })
})

test('reservations include request bodies, and free their memory when they are released', () => {
  const budget = new MemoryBudget(10 * requestOverheadBytes)
  const release = budget.reserve('first', 8 * requestOverheadBytes, () => {})
  expect(budget.reserve('first', requestOverheadBytes, () => {})).toBeNull()
  release?.()
  release?.()
  expect(budget.reserve('first', 9 * requestOverheadBytes, () => {})).not.toBeNull()
  expect(budget.reserve('other', requestOverheadBytes, () => {})).not.toBeNull()
})
