import { expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { dueDeliveries, nextBatch, nextTry, stormAbove, retryDelaysMs } from './delivery-schedule.ts'

const now = new Date('2026-01-15T12:00:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)

let count = 0
const waiting = (given: Partial<{ eventId: number | null; tries: number; ageMs: number; nextMs: number }> = {}) => ({
  id: ++count,
  eventId: given.eventId === undefined ? 1000 + count : given.eventId,
  tries: given.tries ?? 0,
  createdAt: ago(given.ageMs ?? 0),
  nextTryAt: ago(-(given.nextMs ?? 0)),
})
const ids = (rows: { id: number }[]) => rows.map(({ id }) => id)

test('eight attempts in a day, further and further apart; a requested delay is bounded', () => {
  expect(retryDelaysMs).toEqual(retryDelaysMs.toSorted((a, b) => a - b))
  expect(retryDelaysMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(hours(24))
  expect(nextTry(1, now, null)?.getTime()).toBe(now.getTime() + 10_000)
  expect(nextTry(7, now, null)?.getTime()).toBe(now.getTime() + hours(15))
  expect(nextTry(8, now, null)).toBeNull()
  expect(nextTry(1, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(3))
  expect(nextTry(4, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(30))
  expect(nextTry(1, now, hours(100))?.getTime()).toBe(now.getTime() + hours(6))
})

test('the end of an alert waits for its beginning, and nothing else does', () => {
  const failing = waiting({ eventId: 1, tries: 2, nextMs: 1 })
  const itsEnd = waiting({ eventId: 1 })
  const other = waiting({ eventId: 2 })
  const tests = [waiting({ eventId: null, tries: 1, nextMs: 1 }), waiting({ eventId: null })]
  const held = waiting({ nextMs: 5_000 })
  expect(ids(dueDeliveries([failing, itsEnd, other, ...tests, held], now))).toEqual(
    ids([other, ...tests.slice(1), held]),
  )
  const later = new Date(now.getTime() + 1)
  expect(ids(dueDeliveries([failing, itsEnd, other], later))).toEqual(ids([failing, itsEnd, other]))
})

test('one by one: what was never tried first, the beginning of an alert before its end', () => {
  const [tried, itsEnd, fresh] = [waiting({ eventId: 1, tries: 3 }), waiting({ eventId: 1 }), waiting()]
  expect(nextBatch('webhook', [tried, itsEnd, fresh], 3, now)).toEqual({ send: [fresh] })
  expect(nextBatch('webhook', [tried, itsEnd], 3, now)).toEqual({ send: [tried] })
  expect(nextBatch('webhook', [], 0, now)).toEqual({ send: [] })
})

test('people get one message a minute in a storm, programs one per alert', () => {
  const many = Array.from({ length: stormAbove + 1 }, (_, index) => waiting({ ageMs: 20_000 - index }))
  const [first] = many
  for (const type of ['email', 'slack'] as const) {
    expect(nextBatch(type, many.slice(1), stormAbove, now)).toMatchObject({ send: [many[1]] })
    expect(nextBatch(type, many, stormAbove + 1, now)).toEqual({ hold: many, until: ago(-40_000) })
    expect(nextBatch(type, many, stormAbove + 1, ago(-40_000))).toEqual({ send: many })
    // It goes on, and not all that waits waits for long already.
    expect(nextBatch(type, many.slice(0, 2), 50, now)).toEqual({ hold: many.slice(0, 2), until: ago(-40_000) })
    expect(nextBatch(type, [], 50, now)).toEqual({ send: [] })
  }
  expect(nextBatch('webhook', many, 50, now)).toEqual({ send: [first] })
})
