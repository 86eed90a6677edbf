import { expect, test } from 'vitest'
import { minutes, hours } from '../../../clock.ts'
import type { Fault } from '../testing/month/episodes.ts'
import { monthMs, paymentFault, quotaFault, runMonth } from '../testing/month/run-month.ts'

const kindOf: Record<Fault, string> = {
  crashLoop: 'CRASH_LOOP',
  outOfMemory: 'OUT_OF_MEMORY',
  stall: 'STALLED',
  slowness: 'LAGGING',
  wrongHead: 'WRONG_SYNCED',
  frozenHead: 'FROZEN_HEAD',
  apiDown: 'API_DOWN',
  apiSlow: 'API_SLOW',
  fullDatabase: 'LOW_SPACE',
  failedDeploy: 'DEPLOY_FAILED',
}

/** The simulation takes seconds on an idle machine, but longer under load. */
const longTimeout = { timeout: 120_000 }

test('a month of normal events opens no alert', longTimeout, () => {
  const { alerts, rounds } = runMonth(1, false)
  expect(alerts).toEqual([])
  expect(rounds).toBeGreaterThan((monthMs / 15_000) * 0.99)
})

test(
  'in the same month, each fault opens only its own alert within a minute, and the alert ends after the fault',
  longTimeout,
  () => {
    const { alerts, injectedFaults } = runMonth(1, true)
    const opened = alerts.map(({ kind, squidId }) => `${kind} ${squidId ?? ''}`)
    const expected = injectedFaults.map(({ type, squidId }) => `${kindOf[type]} ${squidId}`)
    expect(opened.toSorted()).toEqual([...expected, 'PAYMENT ', 'QUOTA_NEAR '].toSorted())
    for (const { type, toMs, conditionMs } of injectedFaults) {
      const alert = alerts.find(({ kind }) => kind === kindOf[type])
      const openDelayMs = (alert?.openedMs ?? Infinity) - (conditionMs ?? Infinity)
      expect([type, openDelayMs, openDelayMs >= -minutes(0.5) && openDelayMs <= minutes(1)]).toEqual([
        type,
        openDelayMs,
        true,
      ])
      const endDelayMs = (alert?.endedMs ?? Infinity) - toMs
      const toleranceMs = type === 'outOfMemory' ? hours(24) + minutes(2) : minutes(14)
      expect([type, endDelayMs, endDelayMs >= 0 && endDelayMs <= toleranceMs]).toEqual([type, endDelayMs, true])
    }
    for (const [kind, { fromMs, toMs }] of [['PAYMENT', paymentFault] as const, ['QUOTA_NEAR', quotaFault] as const]) {
      const alert = alerts.find((candidate) => candidate.kind === kind)
      expect([alert?.openedMs, (alert?.endedMs ?? Infinity) - toMs <= minutes(2)]).toEqual([fromMs, true])
    }
  },
)
