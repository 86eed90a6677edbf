import { alertKinds, alertRules, type AlertKind, type AlertRule } from '@shoal/contract'
import type { Limits } from '../../observing/index.ts'

/** All rules of an organization, in the order of the contract: its own settings, or the defaults. */
export function rulesOf(chosen: readonly AlertRule[]): AlertRule[] {
  const byKind = new Map(chosen.map((rule) => [rule.kind, rule]))
  return alertKinds.map((kind) => {
    const rule = byKind.get(kind)
    const { threshold } = alertRules[kind]
    return { kind, isEnabled: rule?.isEnabled ?? true, threshold: threshold && (rule?.threshold ?? threshold.initial) }
  })
}

/** Why the rule cannot have this threshold, as a sentence; null if it can. */
export function whyNotThreshold(kind: AlertKind, threshold: number | null): string | null {
  const allowed = alertRules[kind].threshold
  if (allowed === null) return threshold === null ? null : 'There is nothing to choose'
  const isAllowed = threshold !== null && threshold >= allowed.min && threshold <= allowed.max
  return isAllowed ? null : `A number between ${allowed.min} and ${allowed.max}`
}

/** The limits that rules are checked with; see `Limits`. */
export const limitsOf = (rules: readonly AlertRule[]): Limits =>
  Object.fromEntries(
    rules.map(({ kind, isEnabled, threshold }) => [kind, isEnabled ? (threshold ?? 0) : null]),
  ) as Limits
