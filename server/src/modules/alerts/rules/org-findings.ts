import type { OrgStatus } from '@shoal/contract'
import type { QuotaUse } from '../../billing/index.ts'
import type { Finding, Limits } from '../../observing/index.ts'
import type { OrgFinding } from './evaluate.ts'

const quotaNames: Record<QuotaUse['quota'], { label: string; advice: string }> = {
  spend: {
    label: 'Spend cap',
    advice:
      'When it is reached, nothing new is deployed, or squids are hibernated, as was chosen. Raise it under Billing.',
  },
  rpc: {
    label: 'RPC requests',
    advice: 'When all are used, RPC requests are refused until the month ends.',
  },
}

/** Quotas that are nearly or wholly used, by the limit of each organization in percent. */
export function quotaFindings(uses: readonly QuotaUse[], limitsOf: (orgId: number) => Limits): OrgFinding[] {
  return uses.flatMap(({ orgId, quota, used, cap }) => {
    const limit = limitsOf(orgId).QUOTA_NEAR
    if (limit === null || cap <= 0 || used * 100 < cap * limit) return []
    const percent = Math.floor((used / cap) * 100)
    const { label, advice } = quotaNames[quota]
    const finding: Finding = {
      kind: 'QUOTA_NEAR',
      severity: used >= cap ? 'CRITICAL' : 'WARNING',
      container: quota,
      label: used >= cap ? `${label}: all used` : `${label}: nearly used`,
      reason: `${percent} % of this month's is used. ${advice}`,
      sinceMs: null,
      holdMs: 0,
      isClear: true,
    }
    return [{ orgId, finding }]
  })
}

const paymentProblems: Partial<Record<OrgStatus, Pick<Finding, 'severity' | 'label' | 'reason'>>> = {
  PAYMENT_ISSUES: {
    severity: 'WARNING',
    label: 'A payment failed',
    reason: 'The card could not be charged. It is tried again; please update it under Billing.',
  },
  IN_DEBT: {
    severity: 'CRITICAL',
    label: 'Payment is overdue',
    reason: 'Nothing can be deployed and RPC requests are refused until it is paid. Update the card under Billing.',
  },
  TERMINATED: {
    severity: 'CRITICAL',
    label: 'Squids are stopped for debt',
    reason: 'All squids are hibernated and their data is kept. They wake when the debt is paid under Billing.',
  },
}

export function paymentFindings(orgs: readonly { orgId: number; status: OrgStatus }[]): OrgFinding[] {
  return orgs.flatMap(({ orgId, status }) => {
    const trouble = paymentProblems[status]
    if (!trouble) return []
    return [
      { orgId, finding: { kind: 'PAYMENT', container: null, ...trouble, sinceMs: null, holdMs: 0, isClear: true } },
    ]
  })
}
