import { expect, test } from 'vitest'
import { minutes } from '../../../clock.ts'
import { alertsOf } from './present-alerts.ts'
import type { ObservedContainer, ObservedProcessor } from '../../observing/progress/details-store.ts'
import { observedContainer, observedProcessor } from '../../observing/testing/observed.ts'

const now = Date.parse('2026-01-15T12:00:00Z')
const ago = (ms: number) => now - ms
const iso = (ms: number) => new Date(ms).toISOString()

function alerts(processor: Partial<ObservedProcessor> = {}, container: Partial<ObservedContainer> = {}) {
  return alertsOf({
    squid: { secretsReadAtMs: null, secretNames: [], manifestCurrent: {} },
    subject: {
      status: 'DEPLOYED',
      image: 'image',
      lastDeploy: null,
      apiReplicas: 0,
      hasuraReplicas: 0,
      hasura: [],
      processors: ['eth'],
      database: null,
      containers: [observedContainer({ sinceMs: ago(minutes(60)), ...container })],
      processorMetrics: [observedProcessor(now, processor)],
      apis: [],
    },
    secrets: new Map(),
    nowMs: now,
  })
}

test('a processor without progress while its chain grows is reported with the reason and the time', () => {
  const stalledMs = ago(minutes(6))
  expect(alerts({ progressedAtMs: stalledMs, headMovedAtMs: ago(5000), stalledMs: minutes(6) })).toEqual([
    {
      kind: 'STALLED',
      label: 'eth is stuck',
      severity: 'CRITICAL',
      reason: expect.stringContaining('at block 500'),
      since: iso(stalledMs),
    },
  ])
})

test('there is no alert for a quiet chain, a processor at its head, or a processor that makes progress', () => {
  expect(alerts({ progressedAtMs: ago(minutes(30)), headMovedAtMs: ago(minutes(31)), stalledMs: minutes(30) })).toEqual(
    [],
  )
  expect(alerts({ currentBlock: 1000, progressedAtMs: ago(minutes(30)), headMovedAtMs: ago(5000) })).toEqual([])
  expect(alerts()).toEqual([])
})

test('unresponsive metrics and a failed run are reported with the time at which they began', () => {
  const sinceMs = ago(minutes(7))
  expect(alerts({ unresponsiveSinceMs: sinceMs })).toMatchObject([{ label: 'eth is stuck', since: iso(sinceMs) }])
  expect(alerts({}, { state: 'finished', exitCode: 2, sinceMs })).toMatchObject([
    { reason: 'It ended with code 2.', since: iso(sinceMs) },
  ])
})

test('a crash loop is reported once, and only processors are reported as stuck', () => {
  const crashing = alerts({}, { state: 'failed', crashesInARow: 5, exitCode: 1, sinceMs: ago(1000) })
  expect(crashing.map(({ label }) => label)).toEqual(['eth keeps crashing'])
  expect(alerts({}, { container: 'api', state: 'finished', exitCode: 1 })).toEqual([])
})

test('the alert of a failed first deployment states that its database is billed, if there is one', () => {
  const reasonWith = (database: { usedBytes: number; totalBytes: number } | null) =>
    alertsOf({
      squid: { secretsReadAtMs: null, secretNames: [], manifestCurrent: {} },
      subject: {
        status: 'DEPLOY_ERROR',
        image: null,
        lastDeploy: { id: 7, type: 'DEPLOY', status: 'SQUID_SYNCING', failed: 'UNEXPECTED', running: false },
        apiReplicas: 0,
        hasuraReplicas: 0,
        hasura: [],
        processors: [],
        database,
        containers: [],
        processorMetrics: [],
        apis: [],
      },
      secrets: new Map(),
      nowMs: now,
    })[0]?.reason
  expect(reasonWith({ usedBytes: 0, totalBytes: 10 * 2 ** 30 })).toBe(
    'Deployment 7 failed. No program is running. Its database is kept, and 10 GB of disk are billed until the version is deleted (a playground pays nothing). Its log under Deployments shows the reason and how to fix it.',
  )
  expect(reasonWith(null)).not.toContain('billed')
})
