/** The account statuses of spec 4. */
export const orgStatuses = ['DRAFT', 'ACTIVE', 'PAYMENT_ISSUES', 'IN_DEBT', 'TERMINATED'] as const
export type OrgStatus = (typeof orgStatuses)[number]

export const isUnpaid = (status: OrgStatus): boolean => status === 'IN_DEBT' || status === 'TERMINATED'
export const isCardAdded = (status: OrgStatus): boolean => status !== 'DRAFT'

/** What the sidebar shows as the plan, by account status (spec 2.3). */
export const planLabels: Record<OrgStatus, string> = {
  DRAFT: 'Billing not set',
  ACTIVE: 'Professional',
  PAYMENT_ISSUES: 'Payment issue',
  IN_DEBT: 'Unpaid',
  TERMINATED: 'Unpaid',
}
