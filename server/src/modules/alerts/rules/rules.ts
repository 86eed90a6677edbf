import { alertKinds, alertRules, type AlertKind, type AlertRule } from '@shoal/contract'

/** All rules of an organization, in the order of the contract: what it chose, and otherwise what everybody has. */
export function rulesOf(chosen: readonly AlertRule[]): AlertRule[] {
  const byKind = new Map(chosen.map((rule) => [rule.kind, rule]))
  return alertKinds.map((kind) => {
    const rule = byKind.get(kind)
    const { threshold } = alertRules[kind]
    return { kind, isEnabled: rule?.isEnabled ?? true, threshold: threshold && (rule?.threshold ?? threshold.initial) }
  })
}

/** A sentence when the rule cannot have this threshold, otherwise null. */
export function whyNotThreshold(kind: AlertKind, threshold: number | null): string | null {
  const allowed = alertRules[kind].threshold
  if (allowed === null) return threshold === null ? null : 'There is nothing to choose'
  const isAllowed = threshold !== null && threshold >= allowed.min && threshold <= allowed.max
  return isAllowed ? null : `A number between ${allowed.min} and ${allowed.max}`
}
