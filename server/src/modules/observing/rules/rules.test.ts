import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { alertRules, type AlertKind } from '@shoal/contract'
import { expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { observedContainer, observedProcessor } from '../testing/observed.ts'
import { defaultThresholds, findingsOf, orgFindingsOf } from './findings.ts'
import type { AlertFacts, Finding, OrgFacts } from './rule.ts'
import { withAlertRules } from './rule-documents.ts'
import { rules } from './rules.ts'

const now = Date.parse('2026-01-15T12:00:00Z')
const ago = (ms: number) => now - ms

/** The facts in which a version differs from `healthy`. */
const version = (change: Partial<AlertFacts>): Partial<AlertFacts> => change
const eth = (change: Parameters<typeof observedContainer>[0]) =>
  observedContainer({ sinceMs: ago(hours(1)), ...change })
const metrics = (change: Parameters<typeof observedProcessor>[1]) => [observedProcessor(now, change)]
const steadyRate = { moves: 50, msPerMove: 12_000, blocksPerMove: 1 }
const headAt = (headBlock: number) => ({
  headBlock,
  finalBlock: headBlock,
  movedAtMs: ago(1000),
  blockRate: steadyRate,
  observedAtMs: ago(1000),
})

type Example = { facts: Partial<AlertFacts> | OrgFacts; severity: Finding['severity']; container: string | null }

/** For each rule, facts in which only this rule finds a problem. */
const examples: Record<AlertKind, Example> = {
  CRASH_LOOP: {
    facts: version({ containers: [eth({ state: 'backoff', crashesInARow: 3 })] }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  OUT_OF_MEMORY: {
    facts: version({ containers: [eth({ isOutOfMemory: true })] }),
    severity: 'WARNING',
    container: 'eth',
  },
  DISK_FULL: {
    facts: version({ containers: [eth({ diskFullSinceMs: ago(minutes(1)) })] }),
    severity: 'WARNING',
    container: 'eth',
  },
  SOURCE_SILENT: {
    facts: version({ containers: [eth({ source: 'It waits for eth.example.com.' })], processorMetrics: [] }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  STALLED: {
    facts: version({ processorMetrics: metrics({ unresponsiveSinceMs: ago(minutes(6)) }) }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  WRONG_SYNCED: {
    facts: version({ processorMetrics: metrics({ currentBlock: 1000, followsHead: true, head: headAt(2000) }) }),
    severity: 'CRITICAL',
    container: 'eth',
  },
  FROZEN_HEAD: {
    facts: version({
      processorMetrics: metrics({ currentBlock: 1000, headMovedAtMs: ago(minutes(20)), headRate: steadyRate }),
    }),
    severity: 'WARNING',
    container: 'eth',
  },
  LAGGING: {
    facts: version({ processorMetrics: metrics({ currentBlock: 400, caughtUpAtMs: ago(hours(1)) }) }),
    severity: 'WARNING',
    container: 'eth',
  },
  API_DOWN: {
    facts: version({
      apiReplicas: 1,
      apis: [{ squidId: 1, container: 'api', isAvailable: false, sinceMs: ago(minutes(2)), reason: null }],
    }),
    severity: 'CRITICAL',
    container: 'api',
  },
  API_SLOW: {
    facts: version({ latency: { p95Ms: 3000, requests: 20 } }),
    severity: 'WARNING',
    container: 'api',
  },
  LOW_SPACE: {
    facts: version({ database: { usedBytes: 97, totalBytes: 100 } }),
    severity: 'CRITICAL',
    container: 'db',
  },
  DEPLOY_FAILED: {
    facts: version({ lastDeploy: { id: 1, type: 'DEPLOY', status: 'OK', failed: 'UNEXPECTED', running: false } }),
    severity: 'WARNING',
    container: null,
  },
  QUOTA_NEAR: {
    facts: { status: 'ACTIVE', quotas: [{ quota: 'rpc', used: 95, cap: 100 }] },
    severity: 'WARNING',
    container: 'rpc',
  },
  PAYMENT: {
    facts: { status: 'IN_DEBT', quotas: [{ quota: 'rpc', used: 10, cap: 100 }] },
    severity: 'CRITICAL',
    container: null,
  },
}

const healthy: AlertFacts = {
  status: 'DEPLOYED',
  image: 'image',
  lastDeploy: null,
  apiReplicas: 0,
  hasuraReplicas: 0,
  hasura: [],
  processors: ['eth'],
  database: null,
  containers: [eth({})],
  processorMetrics: metrics({}),
  apis: [],
}

const findProblems = (facts: Example['facts'], thresholds = defaultThresholds) =>
  'quotas' in facts ? orgFindingsOf(facts, thresholds, now) : findingsOf({ ...healthy, ...facts }, thresholds, now)

test.each(Object.entries(examples))('rule %s finds its problem, and nothing when the rule is off', (kind, example) => {
  const { facts, severity, container } = example
  expect(findProblems(facts)).toMatchObject([{ kind, severity, container, canOpenAlert: true }])
  expect(
    findProblems(facts, { ...defaultThresholds, [kind]: null }).filter((finding) => finding.kind === kind),
  ).toEqual([])
})

test('no rule finds a problem in a healthy version or organization', () => {
  expect(findProblems({})).toEqual([])
  expect(findProblems({ status: 'ACTIVE', quotas: [{ quota: 'spend', used: 10, cap: 100 }] })).toEqual([])
})

test('the contract and docs/alerts.md contain every rule, in the same order', () => {
  const texts = Object.entries(rules).map(([kind, { title, explanation, threshold }]) => [
    kind,
    { title, explanation, threshold },
  ])
  const fix = 'run npm run check -- --write'
  expect(Object.entries(alertRules), fix).toEqual(texts)
  const page = readFileSync(join(import.meta.dirname, '../../../../../docs/alerts.md'), 'utf8')
  expect(withAlertRules(page), fix).toBe(page)
  expect(() => withAlertRules('# Another page')).toThrow('has no place for the rules')
})
