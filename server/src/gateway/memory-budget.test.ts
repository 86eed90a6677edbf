import { expect, test } from 'vitest'
import { minBytes, MemoryBudget } from './memory-budget.ts'

test('a flood only affects the organization that causes it', () => {
  const budget = new MemoryBudget(10 * minBytes)
  const evicted: string[] = []
  const reserve = (org: string, name: string) => budget.reserve(org, 0, () => evicted.push(name))
  for (let i = 0; i < 20; i++) reserve('flood', `flood ${i}`)
  expect(evicted).toEqual([])
  const leave = ['a', 'b', 'c'].map((name) => reserve('other', name))
  expect(leave).not.toContain(null)
  expect(evicted).toEqual(['flood 9', 'flood 8', 'flood 7'])
  expect(reserve('flood', 'more')).toBeNull()
  for (const one of leave) one?.()
  expect(reserve('flood', 'again')).not.toBeNull()
})

test('two organizations get half of the memory each', () => {
  const budget = new MemoryBudget(10 * minBytes)
  const held = { one: 0, other: 0 }
  for (const org of ['one', 'other'] as const)
    for (let i = 0; i < 20; i++) if (budget.reserve(org, 0, () => held[org]--)) held[org]++
  expect(held).toEqual({ one: 5, other: 5 })
})

test('bodies count, and released reservations free their memory', () => {
  const budget = new MemoryBudget(10 * minBytes)
  const leave = budget.reserve('one', 8 * minBytes, () => {})
  expect(budget.reserve('one', minBytes, () => {})).toBeNull()
  leave?.()
  leave?.()
  expect(budget.reserve('one', 9 * minBytes, () => {})).not.toBeNull()
  expect(budget.reserve('other', minBytes, () => {})).not.toBeNull()
})
