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

test('eight attempts in fourteen days, then debt, then hibernation', () => {
  let account = nextAccountStatus(active, { type: 'failed', atMs: 0, isScheduled: true })
  const history: [number, string][] = [[0, account.status]]
  while (account.nextRetryMs !== null) {
    const atMs = account.nextRetryMs
    account = nextAccountStatus(account, { type: 'failed', atMs, isScheduled: true })
    history.push([atMs / days(1), account.status])
  }
  expect(history).toEqual([
    [0, 'PAYMENT_ISSUES'],
    ...retryDays.slice(0, -1).map((day) => [day, 'PAYMENT_ISSUES']),
    [14, 'IN_DEBT'],
  ])
  expect(nextAccountStatus(account, { type: 'time', atMs: days(terminatedAfterDays) - 1 }).status).toBe('IN_DEBT')
  expect(nextAccountStatus(account, { type: 'time', atMs: days(terminatedAfterDays) }).status).toBe('TERMINATED')
})

const ranks = { DRAFT: 0, ACTIVE: 0, PAYMENT_ISSUES: 1, IN_DEBT: 2, TERMINATED: 3 }

test('events in any order lead down one step at a time, only when due, and paying leads back', () => {
  const kinds = fc.constantFrom('settled', 'scheduled', 'manual', 'time')
  const steps = fc.array(fc.record({ kind: kinds, hours: fc.integer({ min: 0, max: 100 }) }), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (list) => {
      let account = draft
      let atMs = 0
      for (const { kind, hours } of list) {
        atMs += hours * 3_600_000
        const before = account
        const event: AccountEvent =
          kind === 'settled'
            ? { type: 'settled' }
            : kind === 'time'
              ? { type: 'time', atMs }
              : { type: 'failed', atMs, isScheduled: kind === 'scheduled' }
        account = nextAccountStatus(before, event)
        if (kind === 'settled') expect(account).toEqual(active)
        else expect(ranks[account.status] - ranks[before.status]).toBeOneOf([0, 1])
        if (account.status === 'DRAFT') expect(before.status).toBe('DRAFT')
        // Only failing accounts have a start time, and only PAYMENT_ISSUES has a schedule.
        const { status, failingSinceMs, retries, nextRetryMs } = account
        expect(failingSinceMs === null).toBe(ranks[status] === 0)
        expect(nextRetryMs !== null).toBe(status === 'PAYMENT_ISSUES')
        if (status === 'IN_DEBT') expect(retries).toBe(retryDays.length)
        if (status === 'TERMINATED') expect(atMs - (failingSinceMs ?? atMs)).toBeGreaterThanOrEqual(days(28))
        if (kind === 'manual' && before.status !== 'DRAFT' && ranks[before.status] > 0) expect(account).toEqual(before)
      }
    }),
    { numRuns: 500 },
  )
})
