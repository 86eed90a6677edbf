import type { AlertKind } from '@shoal/contract'
import { minutes } from '../../../clock.ts'
import { isRuleApplicable, findingsOf, type Finding, type Limits } from '../../observing/index.ts'
import type { AlertSubject } from './alert-subjects.ts'
import type { EventRow } from '../event-store.ts'
import { slowFinding, type Latency } from './slow.ts'

/** What is true now. */
export type Facts = {
  versions: AlertSubject[]
  /** Of the versions that were asked anything lately. */
  latencies: ReadonlyMap<number, Latency>
  /** What concerns organizations as a whole, judged by their limits. */
  ofOrgs: OrgFinding[]
}
export type OrgFinding = { orgId: number; finding: Finding }

export type OpenAlert = Pick<
  EventRow,
  'id' | 'orgId' | 'kind' | 'severity' | 'squidId' | 'container' | 'label' | 'reason'
>

/** What the last look left: since when something was found that is no alert yet, and since when an open alert was not. */
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
  /** People are told once more. */
  | { type: 'worsen'; id: number; text: NoticeText }
  /** `isQuiet`: nobody mended it; somebody stopped or changed what it was about, or turned its rule off. */
  | { type: 'end'; id: number; isQuiet: boolean }

/** What was not found for so long is over: a short gap is no recovery. */
const clearAfterMs = minutes(1)
const clearAfterMsByKind: Partial<Record<AlertKind, number>> = {
  // As long as it takes until a run counts as stable.
  CRASH_LOOP: minutes(10),
  LAGGING: minutes(2),
  API_SLOW: minutes(5),
}
/** After a longer time without a look nothing is known of what was in between. */
const maxGapMs = minutes(1)

/**
 * What has to change so that the open alerts are those of the facts: never two of one organization, kind, version and container.
 * Given the same facts again it changes nothing. `limitsOf` is asked for each organization.
 */
export function evaluateAlerts(
  facts: Facts,
  limitsOf: (orgId: number) => Limits,
  open: readonly OpenAlert[],
  memory: EvaluationState,
  nowMs: number,
): { transitions: Transition[]; memory: EvaluationState } {
  const wasWatched = nowMs - memory.atMs <= maxGapMs
  const before = wasWatched ? memory : emptyState
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
    if (nowMs - sinceMs >= (clearAfterMsByKind[alert.kind] ?? clearAfterMs))
      transitions.push({ type: 'end', id: alert.id, isQuiet: false })
    else clearSince.set(alert.id, sinceMs)
  }
  const pending = new Map<string, number>()
  for (const [key, { orgId, finding, version }] of found) {
    if (!finding.isClear) continue
    const sinceMs = before.pending.get(key) ?? nowMs
    if (nowMs - sinceMs < finding.holdMs) {
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

function findAll({ versions, latencies, ofOrgs }: Facts, limitsOf: (orgId: number) => Limits, nowMs: number) {
  const found = new Map<string, FoundAlerts>()
  const note = (orgId: number, finding: Finding, version: AlertSubject | null) =>
    void found.set(keyOf(orgId, finding.kind, version?.id ?? null, finding.container), { orgId, finding, version })
  for (const version of versions) {
    if (version.isDeleting) continue
    const { id, orgId, subject: watched } = version
    const limits = limitsOf(orgId)
    for (const finding of findingsOf(watched, limits, nowMs)) note(orgId, finding, version)
    const slow = slowFinding(limits.API_SLOW, latencies.get(id))
    if (slow) note(orgId, slow, version)
  }
  for (const [key, { finding, version }] of found)
    if (version && isRuleApplicable(version.subject, finding.kind, finding.container) === 'no') found.delete(key)
  for (const { orgId, finding } of ofOrgs) if (limitsOf(orgId)[finding.kind] !== null) note(orgId, finding, null)
  return found
}

/** Of an alert whose cause was not found. */
function stateOf(
  { kind, squidId, container }: OpenAlert,
  versions: ReadonlyMap<number, AlertSubject>,
  limits: Limits,
): 'well' | 'unknown' | 'moot' {
  if (limits[kind] === null) return 'moot'
  if (squidId === null) return 'well'
  const version = versions.get(squidId)
  if (!version || version.isDeleting) return 'moot'
  const told = isRuleApplicable(version.subject, kind, container)
  return told === 'yes' ? 'well' : told === 'no' ? 'moot' : 'unknown'
}

/**
 * An alert may get worse, once: what goes up and down around a limit would be told each time. Otherwise it stays what people were
 * told, since its reason holds numbers that change all the time.
 */
function changeOf(alert: OpenAlert, { severity, label, reason }: Finding): Transition[] {
  const isWorse = alert.severity === 'WARNING' && severity === 'CRITICAL'
  return isWorse ? [{ type: 'worsen', id: alert.id, text: { severity, label, reason } }] : []
}

const keyOf = (orgId: number, kind: AlertKind, squidId: number | null, container: string | null) =>
  `${orgId} ${kind} ${squidId ?? ''} ${container ?? ''}`
