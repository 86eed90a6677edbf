import { expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { dueDeliveries, nextBatch, nextTry, stormAbove, retryDelaysMs } from './delivery-schedule.ts'

const now = new Date('2026-01-15T12:00:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)

let count = 0
const pending = (
  overrides: Partial<{ eventId: number | null; tries: number; ageMs: number; nextMs: number }> = {},
) => ({
  id: ++count,
  eventId: overrides.eventId === undefined ? 1000 + count : overrides.eventId,
  tries: overrides.tries ?? 0,
  createdAt: ago(overrides.ageMs ?? 0),
  nextTryAt: ago(-(overrides.nextMs ?? 0)),
})
const ids = (rows: { id: number }[]) => rows.map(({ id }) => id)

test('a message is tried eight times within a day, with growing delays; a requested delay is bounded', () => {
  expect(retryDelaysMs).toEqual(retryDelaysMs.toSorted((a, b) => a - b))
  expect(retryDelaysMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(hours(24))
  expect(nextTry(1, now, null)?.getTime()).toBe(now.getTime() + 10_000)
  expect(nextTry(7, now, null)?.getTime()).toBe(now.getTime() + hours(15))
  expect(nextTry(8, now, null)).toBeNull()
  expect(nextTry(1, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(3))
  expect(nextTry(4, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(30))
  expect(nextTry(1, now, hours(100))?.getTime()).toBe(now.getTime() + hours(6))
})

test('only the end of an alert waits for another delivery, that of its opening', () => {
  const failing = pending({ eventId: 1, tries: 2, nextMs: 1 })
  const ending = pending({ eventId: 1 })
  const other = pending({ eventId: 2 })
  const tests = [pending({ eventId: null, tries: 1, nextMs: 1 }), pending({ eventId: null })]
  const held = pending({ nextMs: 5_000 })
  expect(ids(dueDeliveries([failing, ending, other, ...tests, held], now))).toEqual(
    ids([other, ...tests.slice(1), held]),
  )
  const later = new Date(now.getTime() + 1)
  expect(ids(dueDeliveries([failing, ending, other], later))).toEqual(ids([failing, ending, other]))
})

test('deliveries are sent one by one: untried ones first, the opening of an alert before its end', () => {
  const [tried, ending, fresh] = [pending({ eventId: 1, tries: 3 }), pending({ eventId: 1 }), pending()]
  expect(nextBatch('webhook', [tried, ending, fresh], 3, now)).toEqual({ send: [fresh] })
  expect(nextBatch('webhook', [tried, ending], 3, now)).toEqual({ send: [tried] })
  expect(nextBatch('webhook', [], 0, now)).toEqual({ send: [] })
})

test('in a storm e-mail and Slack receive one message a minute, webhooks one per alert', () => {
  const many = Array.from({ length: stormAbove + 1 }, (_, index) => pending({ ageMs: 20_000 - index }))
  const [first] = many
  for (const type of ['email', 'slack'] as const) {
    expect(nextBatch(type, many.slice(1), stormAbove, now)).toMatchObject({ send: [many[1]] })
    expect(nextBatch(type, many, stormAbove + 1, now)).toEqual({ hold: many, until: ago(-40_000) })
    expect(nextBatch(type, many, stormAbove + 1, ago(-40_000))).toEqual({ send: many })
    // The storm continues, and only some deliveries have been pending for long.
    expect(nextBatch(type, many.slice(0, 2), 50, now)).toEqual({ hold: many.slice(0, 2), until: ago(-40_000) })
    expect(nextBatch(type, [], 50, now)).toEqual({ send: [] })
  }
  expect(nextBatch('webhook', many, 50, now)).toEqual({ send: [first] })
})
