import { expect, test } from 'vitest'
import { leastBytes, WaitingRoom } from './waiting-room.ts'

test('an organization that floods the room crowds out only itself', () => {
  const room = new WaitingRoom(10 * leastBytes)
  const evicted: string[] = []
  const enter = (org: string, name: string) => room.enter(org, 0, () => evicted.push(name))
  for (let i = 0; i < 20; i++) enter('flood', `flood ${i}`)
  expect(evicted).toEqual([])
  const leave = ['a', 'b', 'c'].map((name) => enter('other', name))
  expect(leave).not.toContain(null)
  expect(evicted).toEqual(['flood 9', 'flood 8', 'flood 7'])
  expect(enter('flood', 'more')).toBeNull()
  for (const one of leave) one?.()
  expect(enter('flood', 'again')).not.toBeNull()
})

test('two that share the room take a half each', () => {
  const room = new WaitingRoom(10 * leastBytes)
  const held = { one: 0, other: 0 }
  for (const org of ['one', 'other'] as const)
    for (let i = 0; i < 20; i++) if (room.enter(org, 0, () => held[org]--)) held[org]++
  expect(held).toEqual({ one: 5, other: 5 })
})

test('bodies count, and what left takes nothing', () => {
  const room = new WaitingRoom(10 * leastBytes)
  const leave = room.enter('one', 8 * leastBytes, () => {})
  expect(room.enter('one', leastBytes, () => {})).toBeNull()
  leave?.()
  leave?.()
  expect(room.enter('one', 9 * leastBytes, () => {})).not.toBeNull()
  expect(room.enter('other', leastBytes, () => {})).not.toBeNull()
})
