import type { AlertKind } from '@shoal/contract'
import { minutes } from '../../../clock.ts'
import {
  findingsOf,
  isRuleApplicable,
  orgFindingsOf,
  rules,
  type Finding,
  type Latency,
  type Thresholds,
} from '../../observing/index.ts'
import { forEachInSlices } from '../../../collections/slices.ts'
import type { AlertSubject } from './alert-subjects.ts'
import type { EventRow } from '../event-store.ts'

/** The facts that one round checks the rules against. */
export type Facts = {
  versions: AlertSubject[]
  /** By version id; only versions whose API received requests recently. */
  latencies: ReadonlyMap<number, Latency>
  orgs: { orgId: number; facts: Parameters<typeof orgFindingsOf>[0] }[]
}

/** An open alert, as evaluation needs it. */
export type OpenAlert = Pick<
  EventRow,
  'id' | 'orgId' | 'kind' | 'severity' | 'squidId' | 'container' | 'label' | 'reason'
>

/** What a worker keeps in memory between rounds. */
export type EvaluationState = {
  /** Time of the last round. */
  atMs: number
  /** When each finding without an alert was first found, by `alertKey`. */
  pending: ReadonlyMap<string, number>
  /** Since when the cause of an open alert has been absent, by alert id. */
  clearSince: ReadonlyMap<number, number>
}
/** The state of a new worker. */
export const emptyState: EvaluationState = { atMs: -Infinity, pending: new Map(), clearSince: new Map() }

type AlertText = Pick<Finding, 'severity' | 'label' | 'reason'>
/** A change that must be stored: an alert opens, becomes critical or ends. */
export type Transition =
  | {
      type: 'open'
      orgId: number
      kind: AlertKind
      version: Pick<AlertSubject, 'id' | 'name' | 'slot'> | null
      container: string | null
      startedAtMs: number
      text: AlertText
    }
  /** The alert became critical; channels are notified once more. */
  | { type: 'worsen'; id: number; text: AlertText }
  /** `isQuiet`: the alert ended because a member stopped or changed the version or turned the rule off, not because of a recovery. */
  | { type: 'end'; id: number; isQuiet: boolean }

/** After a gap between rounds that is longer than this, all waiting periods start again. */
const maxGapMs = minutes(1)

/**
 * Returns the transitions that make the open alerts match the facts: at most one alert per organization, kind, version and container.
 * Evaluating the same facts again returns no transitions. `findings`: the result of `findInSlices`, which this changes; by
 * default, all versions are checked in one slice.
 */
export function evaluateAlerts(
  facts: Facts,
  thresholdsOf: (orgId: number) => Thresholds,
  {
    open,
    state,
    nowMs,
    findings: found = findInVersions(facts, thresholdsOf, nowMs),
  }: { open: readonly OpenAlert[]; state: EvaluationState; nowMs: number; findings?: Findings },
): { transitions: Transition[]; state: EvaluationState } {
  const isContinuous = nowMs - state.atMs <= maxGapMs
  const before = isContinuous ? state : emptyState
  const versions = new Map(facts.versions.map((version) => [version.id, version]))
  addOrgFindings(found, facts, thresholdsOf, nowMs)
  const clearSince = new Map<number, number>()
  const transitions: Transition[] = []
  for (const alert of open) {
    const key = alertKey(alert.orgId, alert.kind, alert.squidId, alert.container)
    const finding = found.get(key)?.finding
    found.delete(key)
    const alertState = finding ? 'found' : stateOf(alert, versions, thresholdsOf(alert.orgId))
    if (alertState === 'inapplicable') transitions.push({ type: 'end', id: alert.id, isQuiet: true })
    if (finding) transitions.push(...worsenedTransitions(alert, finding))
    if (alertState !== 'clear') continue
    const sinceMs = before.clearSince.get(alert.id) ?? nowMs
    if (nowMs - sinceMs >= rules[alert.kind].clearMs) transitions.push({ type: 'end', id: alert.id, isQuiet: false })
    else clearSince.set(alert.id, sinceMs)
  }
  const pending = new Map<string, number>()
  for (const [key, { orgId, finding, version }] of found) {
    if (!finding.canOpenAlert) continue
    const sinceMs = before.pending.get(key) ?? nowMs
    if (nowMs - sinceMs < rules[finding.kind].holdMs) {
      pending.set(key, sinceMs)
      continue
    }
    const { kind, container, severity, label, reason } = finding
    const startedAtMs = Math.min(finding.sinceMs ?? sinceMs, nowMs)
    transitions.push({ type: 'open', orgId, kind, version, container, startedAtMs, text: { severity, label, reason } })
  }
  return { transitions, state: { atMs: nowMs, pending, clearSince } }
}

type KeyedFinding = { orgId: number; finding: Finding; version: AlertSubject | null }

/** The findings of versions or organizations, by `alertKey`. */
type Findings = Map<string, KeyedFinding>
type ThresholdsOf = (orgId: number) => Thresholds

function findInVersions({ versions, latencies }: Facts, thresholdsOf: ThresholdsOf, nowMs: number): Findings {
  const found: Findings = new Map()
  for (const version of versions) addFindings(found, version, latencies, thresholdsOf, nowMs)
  return found
}

/** Checks the rules of all versions in slices, so that other work does not wait for thousands of versions. */
export async function findInSlices(
  { versions, latencies }: Facts,
  thresholdsOf: ThresholdsOf,
  nowMs: number,
): Promise<Findings> {
  const found: Findings = new Map()
  await forEachInSlices(versions, (version) => addFindings(found, version, latencies, thresholdsOf, nowMs))
  return found
}

function addFindings(
  found: Findings,
  version: AlertSubject,
  latencies: Facts['latencies'],
  thresholdsOf: ThresholdsOf,
  nowMs: number,
): void {
  if (version.isDeleting) return
  const { id, orgId, facts } = version
  for (const finding of findingsOf({ ...facts, latency: latencies.get(id) }, thresholdsOf(orgId), nowMs))
    if (isRuleApplicable(facts, finding.kind, finding.container) !== 'no')
      found.set(alertKey(orgId, finding.kind, id, finding.container), { orgId, finding, version })
}

function addOrgFindings(found: Findings, { orgs }: Facts, thresholdsOf: ThresholdsOf, nowMs: number): void {
  for (const { orgId, facts } of orgs)
    for (const finding of orgFindingsOf(facts, thresholdsOf(orgId), nowMs))
      found.set(alertKey(orgId, finding.kind, null, finding.container), { orgId, finding, version: null })
}

/**
 * Returns the state of an open alert without a finding: its cause is absent or cannot be checked now, or its rule no
 * longer applies.
 */
function stateOf(
  { kind, squidId, container }: OpenAlert,
  versions: ReadonlyMap<number, AlertSubject>,
  thresholds: Thresholds,
): 'clear' | 'unknown' | 'inapplicable' {
  if (thresholds[kind] === null) return 'inapplicable'
  if (squidId === null) return 'clear'
  const version = versions.get(squidId)
  if (!version || version.isDeleting) return 'inapplicable'
  const applicable = isRuleApplicable(version.facts, kind, container)
  return applicable === 'yes' ? 'clear' : applicable === 'no' ? 'inapplicable' : 'unknown'
}

/**
 * A warning can become critical, but not the reverse: a value that fluctuates around a threshold would cause a notification each time. The text
 * changes only then, because reasons contain numbers that change in every round.
 */
function worsenedTransitions(alert: OpenAlert, { severity, label, reason }: Finding): Transition[] {
  const isWorse = alert.severity === 'WARNING' && severity === 'CRITICAL'
  return isWorse ? [{ type: 'worsen', id: alert.id, text: { severity, label, reason } }] : []
}

const alertKey = (orgId: number, kind: AlertKind, squidId: number | null, container: string | null) =>
  `${orgId} ${kind} ${squidId ?? ''} ${container ?? ''}`
