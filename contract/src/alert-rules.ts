import { alertRuleTexts } from './alert-rules.gen.ts'

export type AlertThreshold = {
  unit: 'minutes' | 'blocks' | 'ms' | 'percent'
  initial: number
  min: number
  max: number
}
/** The texts of a rule, and its threshold, which is null for rules without one. `initial` is the threshold of new organizations. */
export type AlertRuleTexts = { title: string; explanation: string; threshold: AlertThreshold | null }

export type AlertKind = keyof typeof alertRuleTexts
export const alertKinds = Object.keys(alertRuleTexts) as [AlertKind, ...AlertKind[]]

export type WarningKind = AlertKind | 'SECRETS_OUTDATED'
/** The kinds of problems that are shown for a version: those of the alert rules, and secrets that its programs do not have yet. */
export const warningKinds: [WarningKind, ...WarningKind[]] = [...alertKinds, 'SECRETS_OUTDATED']
/** All alert rules, in display order. */
export const alertRules: Record<AlertKind, AlertRuleTexts> = alertRuleTexts

export const alertSeverities = ['WARNING', 'CRITICAL'] as const
