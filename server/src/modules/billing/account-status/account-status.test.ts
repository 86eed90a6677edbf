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

test('an organization is in debt after eight failed retries in fourteen days, and terminated after 28 days', () => {
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

const severity = { DRAFT: 0, ACTIVE: 0, PAYMENT_ISSUES: 1, IN_DEBT: 2, TERMINATED: 3 }

test('an event worsens the status by at most one step, and a payment makes the organization active again', () => {
  const kinds = fc.constantFrom('settled', 'scheduled', 'manual', 'time')
  const steps = fc.array(fc.record({ kind: kinds, hours: fc.integer({ min: 0, max: 100 }) }), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (sequence) => {
      let account = draft
      let atMs = 0
      for (const { kind, hours } of sequence) {
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
        else expect(severity[account.status] - severity[before.status]).toBeOneOf([0, 1])
        if (account.status === 'DRAFT') expect(before.status).toBe('DRAFT')
        // Only failing accounts have a start time, and only PAYMENT_ISSUES has a schedule.
        const { status, failingSinceMs, retries, nextRetryMs } = account
        expect(failingSinceMs === null).toBe(severity[status] === 0)
        expect(nextRetryMs !== null).toBe(status === 'PAYMENT_ISSUES')
        if (status === 'IN_DEBT') expect(retries).toBe(retryDays.length)
        if (status === 'TERMINATED') expect(atMs - (failingSinceMs ?? atMs)).toBeGreaterThanOrEqual(days(28))
        if (kind === 'manual' && before.status !== 'DRAFT' && severity[before.status] > 0)
          expect(account).toEqual(before)
      }
    }),
    { numRuns: 500 },
  )
})
