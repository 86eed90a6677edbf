import { alertKinds, alertRules, type AlertKind, type AlertRule } from '@shoal/contract'
import type { Thresholds } from '../../observing/index.ts'

/** Returns all rules of an organization, in the order of the contract: its own settings, or the defaults. */
export function rulesOf(changedRules: readonly AlertRule[]): AlertRule[] {
  const byKind = new Map(changedRules.map((rule) => [rule.kind, rule]))
  return alertKinds.map((kind) => {
    const rule = byKind.get(kind)
    const { threshold } = alertRules[kind]
    return { kind, isEnabled: rule?.isEnabled ?? true, threshold: threshold && (rule?.threshold ?? threshold.initial) }
  })
}

/** Returns the error message for a threshold that the rule cannot have; null if the threshold is valid. */
export function thresholdError(kind: AlertKind, threshold: number | null): string | null {
  const range = alertRules[kind].threshold
  if (range === null) return threshold === null ? null : 'This rule has no threshold'
  const isAllowed = threshold !== null && threshold >= range.min && threshold <= range.max
  return isAllowed ? null : `A number between ${range.min} and ${range.max}`
}

/** Returns the threshold of each rule: 0 for a rule without one, and null for a disabled rule. */
export const thresholdsOf = (rules: readonly AlertRule[]): Thresholds =>
  Object.fromEntries(
    rules.map(({ kind, isEnabled, threshold }) => [kind, isEnabled ? (threshold ?? 0) : null]),
  ) as Thresholds
