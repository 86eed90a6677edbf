import type { OrgStatus } from '@shoal/contract'
import { minutes } from '../../../clock.ts'
import type { Problem, OrgFacts, RuleOf } from './rule.ts'

const quotaTexts: Record<OrgFacts['quotas'][number]['quota'], { label: string; advice: string }> = {
  spend: {
    label: 'Spend cap',
    advice:
      'When it is reached, new deployments are rejected or squids are hibernated, as set under Billing. The cap can be raised there.',
  },
  rpc: {
    label: 'RPC requests',
    advice: 'When all are used up, RPC requests are rejected until the month ends.',
  },
}

const quotaNear: RuleOf<'organization'> = {
  title: 'Quota almost used up',
  explanation: 'This share of a spend cap, an RPC cap or a playground’s RPC requests has been used.',
  threshold: { unit: 'percent', initial: 90, min: 50, max: 100 },
  opensWhen: '90 % of a spend cap, an RPC cap or the RPC requests of a playground is used; critical at 100 %.',
  appliesTo: 'organization',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: false,
  find: ({ quotas }, thresholdPercent) =>
    quotas
      .filter(({ used, cap }) => cap > 0 && used * 100 >= cap * thresholdPercent)
      .map(({ quota, used, cap }) => {
        const { label, advice } = quotaTexts[quota]
        return {
          severity: used >= cap ? 'CRITICAL' : 'WARNING',
          container: quota,
          label: used >= cap ? `${label}: all used` : `${label}: nearly used`,
          reason: `${Math.floor((used / cap) * 100)} % of this month's cap is used. ${advice}`,
        }
      }),
}

const paymentProblems: Partial<Record<OrgStatus, Pick<Problem, 'severity' | 'label' | 'reason'>>> = {
  PAYMENT_ISSUES: {
    severity: 'WARNING',
    label: 'A payment failed',
    reason: 'The card could not be charged. The charge will be retried; please update the card under Billing.',
  },
  IN_DEBT: {
    severity: 'CRITICAL',
    label: 'Payment is overdue',
    reason: 'Nothing can be deployed and RPC requests are rejected until it is paid. Update the card under Billing.',
  },
  TERMINATED: {
    severity: 'CRITICAL',
    label: 'Squids are stopped because of debt',
    reason: 'All squids are hibernated and their data is kept. They start again when the debt is paid under Billing.',
  },
}

const paymentProblem: RuleOf<'organization'> = {
  title: 'Payment problem',
  explanation: 'A payment failed, or the organization is in debt.',
  threshold: null,
  opensWhen: 'A payment failed; critical from IN_DEBT on.',
  appliesTo: 'organization',
  holdMs: 0,
  clearMs: minutes(1),
  isWarning: false,
  find: ({ status }) => {
    const problem = status && paymentProblems[status]
    return problem ? [{ container: null, ...problem }] : []
  },
}

export const organizationRules = { QUOTA_NEAR: quotaNear, PAYMENT: paymentProblem }
