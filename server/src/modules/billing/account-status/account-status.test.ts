import fc from 'fast-check'
import { expect, test } from 'vitest'
import { days } from '../../../clock.ts'
import {
  nextAccountStatus,
  retryDays,
  terminatedAfterDays,
  type AccountStatus,
  type AccountEvent,
} from './account-status.ts'

const draft: AccountStatus = { status: 'DRAFT', failingSinceMs: null, retries: 0, nextRetryMs: null }
const active: AccountStatus = { ...draft, status: 'ACTIVE' }

test('eight tries in fourteen days, then debt, then hibernation', () => {
  let standing = nextAccountStatus(active, { type: 'failed', atMs: 0, isScheduled: true })
  const seen: [number, string][] = [[0, standing.status]]
  while (standing.nextRetryMs !== null) {
    const atMs = standing.nextRetryMs
    standing = nextAccountStatus(standing, { type: 'failed', atMs, isScheduled: true })
    seen.push([atMs / days(1), standing.status])
  }
  expect(seen).toEqual([
    [0, 'PAYMENT_ISSUES'],
    ...retryDays.slice(0, -1).map((day) => [day, 'PAYMENT_ISSUES']),
    [14, 'IN_DEBT'],
  ])
  expect(nextAccountStatus(standing, { type: 'time', atMs: days(terminatedAfterDays) - 1 }).status).toBe('IN_DEBT')
  expect(nextAccountStatus(standing, { type: 'time', atMs: days(terminatedAfterDays) }).status).toBe('TERMINATED')
})

const ranks = { DRAFT: 0, ACTIVE: 0, PAYMENT_ISSUES: 1, IN_DEBT: 2, TERMINATED: 3 }

test('whatever happens in whatever order: one step down at a time, none without its time, and paying leads back', () => {
  const kinds = fc.constantFrom('settled', 'scheduled', 'asked', 'time')
  const steps = fc.array(fc.record({ kind: kinds, hours: fc.integer({ min: 0, max: 100 }) }), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (list) => {
      let standing = draft
      let atMs = 0
      for (const { kind, hours } of list) {
        atMs += hours * 3_600_000
        const before = standing
        const event: AccountEvent =
          kind === 'settled'
            ? { type: 'settled' }
            : kind === 'time'
              ? { type: 'time', atMs }
              : { type: 'failed', atMs, isScheduled: kind === 'scheduled' }
        standing = nextAccountStatus(before, event)
        if (kind === 'settled') expect(standing).toEqual(active)
        else expect(ranks[standing.status] - ranks[before.status]).toBeOneOf([0, 1])
        if (standing.status === 'DRAFT') expect(before.status).toBe('DRAFT')
        // Whoever owes nothing has no schedule, and whoever has one is told apart from whoever waits.
        const { status, failingSinceMs, retries, nextRetryMs } = standing
        expect(failingSinceMs === null).toBe(ranks[status] === 0)
        expect(nextRetryMs !== null).toBe(status === 'PAYMENT_ISSUES')
        if (status === 'IN_DEBT') expect(retries).toBe(retryDays.length)
        if (status === 'TERMINATED') expect(atMs - (failingSinceMs ?? atMs)).toBeGreaterThanOrEqual(days(28))
        if (kind === 'asked' && before.status !== 'DRAFT' && ranks[before.status] > 0) expect(standing).toEqual(before)
      }
    }),
    { numRuns: 500 },
  )
})
