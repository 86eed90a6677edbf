import { isUnpaid, type OrgStatus } from '@shoal/contract'
import { days } from '../../../clock.ts'

/** Payment status of an organization (spec 4). */
export type AccountStatus = {
  status: OrgStatus
  /** When charges began to fail, or the operator set a status for unpaid invoices. */
  failingSinceMs: number | null
  /** The number of scheduled retries that have failed since `failingSinceMs`. */
  retries: number
  nextRetryMs: number | null
}

/** What may change the payment status of an organization. */
export type AccountEvent =
  /** All invoices are paid, or a card was saved while nothing was due. */
  | { type: 'settled' }
  /** A charge failed. Only charges of the schedule count as retries, not those that users start. */
  | { type: 'failed'; atMs: number; isScheduled: boolean }
  /** Time has passed, which may require terminating the account. */
  | { type: 'time'; atMs: number }
  /** An operator sets the status manually, regardless of unpaid invoices. */
  | { type: 'operator'; status: OrgStatus; atMs: number }

/** Days after the first failure on which a charge is retried: eight times in fourteen days. */
export const retryDays = [1, 2, 4, 6, 8, 10, 12, 14] as const
/** Days from the first failure until all versions are hibernated. */
export const terminatedAfterDays = 28

/**
 * Returns the account status after an event. The order is DRAFT → ACTIVE → PAYMENT_ISSUES (charges are retried, everything runs) →
 * IN_DEBT (no deploys, no RPC) → TERMINATED (all versions hibernated, data kept). `settled` makes any account ACTIVE.
 */
export function nextAccountStatus(account: AccountStatus, event: AccountEvent): AccountStatus {
  if (event.type === 'settled') return { status: 'ACTIVE', failingSinceMs: null, retries: 0, nextRetryMs: null }
  if (event.type === 'operator') return setByOperator(event.status, event.atMs)
  if (event.type === 'failed') return afterFailure(account, event.atMs, event.isScheduled)
  const { status, failingSinceMs } = account
  const isExpired = failingSinceMs !== null && event.atMs >= failingSinceMs + days(terminatedAfterDays)
  return status === 'IN_DEBT' && isExpired ? { ...account, status: 'TERMINATED', nextRetryMs: null } : account
}

/** Returns the account with the status that an operator sets. Schedules no retries: unpaid invoices are not charged until the customer pays or the operator sets another status. */
function setByOperator(status: OrgStatus, atMs: number): AccountStatus {
  const isFailing = status === 'PAYMENT_ISSUES' || isUnpaid(status)
  return { status, failingSinceMs: isFailing ? atMs : null, retries: 0, nextRetryMs: null }
}

/**
 * Whether a charge has failed since the account was last settled; false for a status that an operator set. May be true when all
 * invoices are paid: the server may have been killed after it recorded a payment and before it updated the status.
 */
export const hasFailedCharges = (account: Pick<AccountStatus, 'retries'> & { nextRetryAt: Date | null }): boolean =>
  account.retries > 0 || account.nextRetryAt !== null

function afterFailure(account: AccountStatus, atMs: number, isScheduled: boolean): AccountStatus {
  const { status, failingSinceMs } = account
  if (status === 'IN_DEBT' || status === 'TERMINATED') return account
  if (status !== 'PAYMENT_ISSUES' || failingSinceMs === null)
    return { status: 'PAYMENT_ISSUES', failingSinceMs: atMs, retries: 0, nextRetryMs: atMs + days(retryDays[0]) }
  if (!isScheduled) return account
  const retries = account.retries + 1
  const nextDay = retryDays[retries]
  if (nextDay === undefined) return { status: 'IN_DEBT', failingSinceMs, retries, nextRetryMs: null }
  // A worker that was down for days must not use up all retries in quick succession.
  return { ...account, retries, nextRetryMs: Math.max(failingSinceMs + days(nextDay), atMs + days(1)) }
}
