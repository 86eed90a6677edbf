import { isUnpaid, type Org } from '@shoal/contract'

export type BillingWarning = { tone: 'warn' | 'bad'; text: string }

/** What is wrong with the payments of an organization; undefined if nothing is. Playgrounds have no payments. */
export function billingWarning({ status }: Pick<Org, 'status'>): BillingWarning | undefined {
  if (isUnpaid(status)) return { tone: 'bad', text: 'Payment is overdue' }
  return status === 'PAYMENT_ISSUES' ? { tone: 'warn', text: 'There is a payment issue' } : undefined
}
