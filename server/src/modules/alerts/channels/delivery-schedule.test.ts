import type { AlertChannel } from '@shoal/contract'
import { expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { dueDeliveries, nextBatch, nextAttemptAt, stormThreshold, retryDelaysMs } from './delivery-schedule.ts'

const now = new Date('2026-01-15T12:00:00Z')
const ago = (ms: number) => new Date(now.getTime() - ms)

let count = 0
const pending = (
  overrides: Partial<{ eventId: number | null; tries: number; ageMs: number; nextMs: number; jobId: string }> = {},
) => ({
  id: ++count,
  eventId: overrides.eventId === undefined ? 1000 + count : overrides.eventId,
  tries: overrides.tries ?? 0,
  createdAt: ago(overrides.ageMs ?? 0),
  nextTryAt: ago(-(overrides.nextMs ?? 0)),
  jobId: overrides.jobId ?? `job-${count}`,
})
const batch = (
  type: AlertChannel['type'],
  rows: ReturnType<typeof pending>[],
  { own = rows[0], recent = 0, at = now },
) => {
  const { send, hold, until } = nextBatch(type, rows, { jobId: own?.jobId ?? '', recent, now: at })
  return { send: ids(send), hold: ids(hold), ...(hold.length > 0 ? { waitMs: until.getTime() - at.getTime() } : {}) }
}
const ids = (rows: { id: number }[]) => rows.map(({ id }) => id)

test('a message is attempted eight times within a day, with growing delays; Retry-After is limited', () => {
  expect(retryDelaysMs).toEqual(retryDelaysMs.toSorted((a, b) => a - b))
  expect(retryDelaysMs.reduce((sum, ms) => sum + ms, 0)).toBeLessThan(hours(24))
  expect(nextAttemptAt(1, now, null)?.getTime()).toBe(now.getTime() + 10_000)
  expect(nextAttemptAt(7, now, null)?.getTime()).toBe(now.getTime() + hours(15))
  expect(nextAttemptAt(8, now, null)).toBeNull()
  expect(nextAttemptAt(1, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(3))
  expect(nextAttemptAt(4, now, minutes(3))?.getTime()).toBe(now.getTime() + minutes(30))
  expect(nextAttemptAt(1, now, hours(100))?.getTime()).toBe(now.getTime() + hours(6))
})

test('the message about the end of an alert waits for the one about its opening; no other messages wait', () => {
  const failing = pending({ eventId: 1, tries: 2, nextMs: 1 })
  const ending = pending({ eventId: 1 })
  const other = pending({ eventId: 2 })
  const tests = [pending({ eventId: null, tries: 1, nextMs: 1 }), pending({ eventId: null })]
  const waitingForDigest = pending({ nextMs: 5_000 })
  expect(ids(dueDeliveries([failing, ending, other, ...tests, waitingForDigest], 'other', now))).toEqual(
    ids([other, ...tests.slice(1), waitingForDigest]),
  )
  // The delivery's own job may send it before its retry is due.
  expect(ids(dueDeliveries([failing, ending], failing.jobId, now))).toEqual(ids([failing, ending]))
  const later = new Date(now.getTime() + 1)
  expect(ids(dueDeliveries([failing, ending, other], 'other', later))).toEqual(ids([failing, ending, other]))
})

test('a job sends its delivery, but postpones the message about the end of an alert until that about its opening was sent', () => {
  const [opening, ending, other] = [
    pending({ eventId: 1, tries: 3, nextMs: 9_000 }),
    pending({ eventId: 1 }),
    pending(),
  ]
  const all = [opening, ending, other]
  expect(batch('webhook', all, { own: other, recent: 50 })).toEqual({ send: [other.id], hold: [] })
  expect(batch('webhook', all, { own: opening })).toEqual({ send: [opening.id], hold: [] })
  expect(batch('email', all, { own: ending })).toEqual({ send: [], hold: [ending.id], waitMs: 9_000 })
  // The message about the opening is due, but another job sends it.
  const due = pending({ eventId: 2 })
  const end = pending({ eventId: 2 })
  expect(batch('slack', [due, end], { own: end })).toEqual({ send: [], hold: [end.id], waitMs: 1_000 })
  expect(batch('webhook', [other], { own: due })).toEqual({ send: [], hold: [] })
})

test('a digest that failed is sent again as one message', () => {
  const jobId = 'digest'
  const digest = [pending({ jobId, tries: 1, eventId: 1 }), pending({ jobId, tries: 1, eventId: 1 })]
  expect(batch('email', [...digest, pending()], {})).toEqual({ send: ids(digest), hold: [] })
  // Another job is sending an earlier message about one of the alerts.
  const replayed = { ...pending({ eventId: 1, tries: 1, nextMs: 5_000 }), id: 0 }
  expect(batch('email', [replayed, ...digest], { own: digest[0] })).toEqual({
    send: [],
    hold: ids(digest),
    waitMs: 5_000,
  })
})

test('in a storm, email and Slack channels receive one message a minute, webhooks one per alert', () => {
  const many = Array.from({ length: stormThreshold + 1 }, (_, index) => pending({ ageMs: 20_000 - index }))
  const [first, second] = many
  const own = second
  const late = ago(-40_000)
  for (const type of ['email', 'slack'] as const) {
    expect(batch(type, many.slice(1), { recent: stormThreshold })).toEqual({ send: [second?.id], hold: [] })
    expect(batch(type, many, { own, recent: stormThreshold + 1 })).toEqual({
      send: [],
      hold: [second?.id],
      waitMs: 40_000,
    })
    expect(batch(type, many, { own, recent: stormThreshold + 1, at: late })).toEqual({ send: ids(many), hold: [] })
    // The storm continues, but the pending deliveries are recent.
    expect(batch(type, many.slice(0, 2), { own, recent: 50 })).toEqual({ send: [], hold: [second?.id], waitMs: 40_000 })
    // The digest excludes a delivery that is being sent, and the end of its alert.
    const sending = { ...pending({ eventId: 7, tries: 1, nextMs: 90_000 }), id: 0 }
    const end = pending({ eventId: 7, ageMs: 20_000 })
    expect(batch(type, [sending, ...many, end], { own, at: late })).toEqual({ send: ids(many), hold: [] })
    expect(batch(type, [sending, ...many, end], { own: end, at: late })).toEqual({
      send: [],
      hold: [end.id],
      waitMs: 50_000,
    })
  }
  expect(batch('webhook', many, { recent: 50 })).toEqual({ send: [first?.id], hold: [] })
})
