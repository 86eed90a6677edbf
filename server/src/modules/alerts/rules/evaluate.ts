import type { AlertKind } from '@shoal/contract'
import { minutes } from '../../../clock.ts'
import {
  findingsOf,
  isRuleApplicable,
  orgFindingsOf,
  rules,
  type Finding,
  type Latency,
  type Limits,
} from '../../observing/index.ts'
import type { AlertSubject } from './alert-subjects.ts'
import type { EventRow } from '../event-store.ts'

/** The facts that one round checks the rules against. */
export type Facts = {
  versions: AlertSubject[]
  /** By version id, for versions whose API received requests lately. */
  latencies: ReadonlyMap<number, Latency>
  orgs: { orgId: number; facts: Parameters<typeof orgFindingsOf>[0] }[]
}

export type OpenAlert = Pick<
  EventRow,
  'id' | 'orgId' | 'kind' | 'severity' | 'squidId' | 'container' | 'label' | 'reason'
>

/** State between rounds: since when a finding waits for its alert to open, and since when the cause of an open alert is absent. */
export type EvaluationState = {
  atMs: number
  pending: ReadonlyMap<string, number>
  clearSince: ReadonlyMap<number, number>
}
export const emptyState: EvaluationState = { atMs: -Infinity, pending: new Map(), clearSince: new Map() }

type NoticeText = Pick<Finding, 'severity' | 'label' | 'reason'>
export type Transition =
  | {
      type: 'open'
      orgId: number
      kind: AlertKind
      version: Pick<AlertSubject, 'id' | 'name' | 'slot'> | null
      container: string | null
      startedAtMs: number
      text: NoticeText
    }
  /** Channels are notified once more. */
  | { type: 'worsen'; id: number; text: NoticeText }
  /** `isQuiet`: the problem was not solved; a member stopped or changed the version, or turned the rule off. */
  | { type: 'end'; id: number; isQuiet: boolean }

/** After a longer gap between rounds, waiting starts from the beginning. */
const maxGapMs = minutes(1)

/**
 * Returns the changes that make the open alerts match the facts: at most one alert per organization, kind, version and container.
 * The same facts again change nothing.
 */
export function evaluateAlerts(
  facts: Facts,
  limitsOf: (orgId: number) => Limits,
  open: readonly OpenAlert[],
  memory: EvaluationState,
  nowMs: number,
): { transitions: Transition[]; memory: EvaluationState } {
  const isContinuous = nowMs - memory.atMs <= maxGapMs
  const before = isContinuous ? memory : emptyState
  const versions = new Map(facts.versions.map((version) => [version.id, version]))
  const found = findAll(facts, limitsOf, nowMs)
  const clearSince = new Map<number, number>()
  const transitions: Transition[] = []
  for (const alert of open) {
    const key = keyOf(alert.orgId, alert.kind, alert.squidId, alert.container)
    const finding = found.get(key)?.finding
    found.delete(key)
    const state = finding ? 'found' : stateOf(alert, versions, limitsOf(alert.orgId))
    if (state === 'moot') transitions.push({ type: 'end', id: alert.id, isQuiet: true })
    if (finding) transitions.push(...changeOf(alert, finding))
    if (state !== 'well') continue
    const sinceMs = before.clearSince.get(alert.id) ?? nowMs
    if (nowMs - sinceMs >= rules[alert.kind].clearMs) transitions.push({ type: 'end', id: alert.id, isQuiet: false })
    else clearSince.set(alert.id, sinceMs)
  }
  const pending = new Map<string, number>()
  for (const [key, { orgId, finding, version }] of found) {
    if (!finding.isClear) continue
    const sinceMs = before.pending.get(key) ?? nowMs
    if (nowMs - sinceMs < rules[finding.kind].holdMs) {
      pending.set(key, sinceMs)
      continue
    }
    const { kind, container, severity, label, reason } = finding
    const startedAtMs = Math.min(finding.sinceMs ?? sinceMs, nowMs)
    transitions.push({ type: 'open', orgId, kind, version, container, startedAtMs, text: { severity, label, reason } })
  }
  return { transitions, memory: { atMs: nowMs, pending, clearSince } }
}

type FoundAlerts = { orgId: number; finding: Finding; version: AlertSubject | null }

function findAll({ versions, latencies, orgs }: Facts, limitsOf: (orgId: number) => Limits, nowMs: number) {
  const found = new Map<string, FoundAlerts>()
  const add = (orgId: number, finding: Finding, version: AlertSubject | null) =>
    void found.set(keyOf(orgId, finding.kind, version?.id ?? null, finding.container), { orgId, finding, version })
  for (const version of versions) {
    if (version.isDeleting) continue
    const { id, orgId, subject } = version
    for (const finding of findingsOf({ ...subject, latency: latencies.get(id) }, limitsOf(orgId), nowMs))
      if (isRuleApplicable(subject, finding.kind, finding.container) !== 'no') add(orgId, finding, version)
  }
  for (const { orgId, facts } of orgs)
    for (const finding of orgFindingsOf(facts, limitsOf(orgId), nowMs)) add(orgId, finding, null)
  return found
}

/** The state of an open alert whose cause was not found. */
function stateOf(
  { kind, squidId, container }: OpenAlert,
  versions: ReadonlyMap<number, AlertSubject>,
  limits: Limits,
): 'well' | 'unknown' | 'moot' {
  if (limits[kind] === null) return 'moot'
  if (squidId === null) return 'well'
  const version = versions.get(squidId)
  if (!version || version.isDeleting) return 'moot'
  const applicable = isRuleApplicable(version.subject, kind, container)
  return applicable === 'yes' ? 'well' : applicable === 'no' ? 'moot' : 'unknown'
}

/**
 * An alert may get worse, once: a value that moves around a limit would notify each time. Otherwise its text stays as it was sent,
 * since reasons contain numbers that change in every round.
 */
function changeOf(alert: OpenAlert, { severity, label, reason }: Finding): Transition[] {
  const isWorse = alert.severity === 'WARNING' && severity === 'CRITICAL'
  return isWorse ? [{ type: 'worsen', id: alert.id, text: { severity, label, reason } }] : []
}

const keyOf = (orgId: number, kind: AlertKind, squidId: number | null, container: string | null) =>
  `${orgId} ${kind} ${squidId ?? ''} ${container ?? ''}`
