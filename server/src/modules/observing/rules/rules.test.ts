import { alertRules, type AlertKind } from '@shoal/contract'
import { expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { observedContainer, observedProcessor } from '../testing/observed.ts'
import { defaultLimits, findingsOf, orgFindingsOf } from './findings.ts'
import type { AlertFacts, Finding, OrgFacts } from './rule.ts'
import { rules } from './rules.ts'

const now = Date.parse('2026-01-15T12:00:00Z')
const ago = (ms: number) => now - ms

/** A version without problems except for `change`. */
const version = (change: Partial<AlertFacts>): Partial<AlertFacts> => change
const eth = (change: Parameters<typeof observedContainer>[0]) =>
  observedContainer({ sinceMs: ago(hours(1)), ...change })
const metrics = (change: Parameters<typeof observedProcessor>[1]) => [observedProcessor(now, change)]
const steadyRate = { moves: 50, msPerMove: 12_000, blocksPerMove: 1 }
const headAt = (headBlock: number) => ({
  headBlock,
  finalBlock: headBlock,
  movedAtMs: ago(1000),
  pace: steadyRate,
  observedAtMs: ago(1000),
})

type Example = { finds: Partial<AlertFacts> | OrgFacts; severity: Finding['severity']; container: string | null }

/** Facts in which each rule alone finds a problem. */
const examples: Record<AlertKind, Example> = {
  CRASH_LOOP: {
    finds: version({ containers: [eth({ state: 'backoff', crashesInARow: 3 })] }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  OUT_OF_MEMORY: {
    finds: version({ containers: [eth({ isOutOfMemory: true })] }),
    severity: 'WARNING',
    container: 'eth',
  },
  SOURCE_SILENT: {
    finds: version({ containers: [eth({ source: 'It waits for eth.example.com.' })], seen: [] }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  STALLED: {
    finds: version({ seen: metrics({ unansweredSinceMs: ago(minutes(6)) }) }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  WRONG_SYNCED: {
    finds: version({ seen: metrics({ currentBlock: 1000, followsHead: true, head: headAt(2000) }) }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  FROZEN_HEAD: {
    finds: version({
      seen: metrics({ currentBlock: 1000, headMovedAtMs: ago(minutes(20)), headPace: steadyRate }),
    }),
    severity: 'WARNING',
    container: 'eth',
  },
  LAGGING: {
    finds: version({ seen: metrics({ currentBlock: 400, caughtUpAtMs: ago(hours(1)) }) }),
    severity: 'WARNING',
    container: 'eth',
  },
  API_DOWN: {
    finds: version({
      apiReplicas: 1,
      apis: [{ squidId: 1, container: 'api', isAvailable: false, sinceMs: ago(minutes(2)), reason: null }],
    }),
    severity: 'CRITICAL',
    container: 'api',
  },
  API_SLOW: {
    finds: version({ latency: { p95Ms: 3000, requests: 20 } }),
    severity: 'WARNING',
    container: 'api',
  },
  LOW_SPACE: {
    finds: version({ database: { usedBytes: 97, totalBytes: 100 } }),
    severity: 'CRITICAL',
    container: 'db',
  },
  DEPLOY_FAILED: {
    finds: version({ lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed: 'UNEXPECTED', running: false } }),
    severity: 'WARNING',
    container: null,
  },
  QUOTA_NEAR: {
    finds: { status: 'ACTIVE', quotas: [{ quota: 'rpc', used: 95, cap: 100 }] },
    severity: 'WARNING',
    container: 'rpc',
  },
  PAYMENT: {
    finds: { status: 'IN_DEBT', quotas: [{ quota: 'rpc', used: 10, cap: 100 }] },
    severity: 'CRITICAL',
    container: null,
  },
}

const healthy: AlertFacts = {
  status: 'DEPLOYED',
  image: 'image',
  lastDeploy: null,
  apiReplicas: 0,
  processors: ['eth'],
  database: null,
  containers: [eth({})],
  seen: metrics({}),
  apis: [],
}

const find = (facts: Example['finds'], limits = defaultLimits) =>
  'quotas' in facts ? orgFindingsOf(facts, limits, now) : findingsOf({ ...healthy, ...facts }, limits, now)

test.each(Object.entries(examples))('%s finds its problem, and nothing when it is off', (kind, example) => {
  const { finds, severity, container } = example
  expect(find(finds)).toMatchObject([{ kind, severity, container, isClear: true }])
  expect(find(finds, { ...defaultLimits, [kind]: null }).filter((finding) => finding.kind === kind)).toEqual([])
})

test('nothing is found in a healthy version and organization', () => {
  expect(find({})).toEqual([])
  expect(find({ status: 'ACTIVE', quotas: [{ quota: 'spend', used: 10, cap: 100 }] })).toEqual([])
})

test('the server checks every rule that the contract declares', () => {
  expect(Object.keys(rules).toSorted()).toEqual(Object.keys(alertRules).toSorted())
})
