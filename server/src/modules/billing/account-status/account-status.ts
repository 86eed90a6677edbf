import { isUnpaid, type OrgStatus } from '@shoal/contract'
import { days } from '../../../clock.ts'

/** Payment status of an organization (spec 4). */
export type AccountStatus = {
  status: OrgStatus
  /** When charges began to fail. */
  failingSinceMs: number | null
  /** Scheduled attempts after the first one. */
  retries: number
  nextRetryMs: number | null
}

export type AccountEvent =
  /** A card was saved and nothing is due, or everything due is paid. */
  | { type: 'settled' }
  /** A charge failed. Attempts that users start do not count towards the schedule. */
  | { type: 'failed'; atMs: number; isScheduled: boolean }
  | { type: 'time'; atMs: number }
  /** An operator sets the status by hand, whatever is due. */
  | { type: 'operator'; status: OrgStatus; atMs: number }

/** Days after the first failure on which a charge is retried: eight times in fourteen days. */
export const retryDays = [1, 2, 4, 6, 8, 10, 12, 14] as const
/** Days after the first failure on which everything is hibernated. */
export const terminatedAfterDays = 28

/**
 * DRAFT → ACTIVE → PAYMENT_ISSUES (charges are retried, everything runs) → IN_DEBT (no deploys, no RPC) → TERMINATED (all
 * hibernated, data kept). Settling leads back to ACTIVE from every status.
 */
export function nextAccountStatus(account: AccountStatus, event: AccountEvent): AccountStatus {
  if (event.type === 'settled') return { status: 'ACTIVE', failingSinceMs: null, retries: 0, nextRetryMs: null }
  if (event.type === 'operator') return setByOperator(event.status, event.atMs)
  if (event.type === 'failed') return afterFailure(account, event.atMs, event.isScheduled)
  const { status, failingSinceMs } = account
  const isOver = failingSinceMs !== null && event.atMs >= failingSinceMs + days(terminatedAfterDays)
  return status === 'IN_DEBT' && isOver ? { ...account, status: 'TERMINATED', nextRetryMs: null } : account
}

/** Without a schedule: due charges are not retried before the customer pays or the operator sets another status. */
function setByOperator(status: OrgStatus, atMs: number): AccountStatus {
  const isFailing = status === 'PAYMENT_ISSUES' || isUnpaid(status)
  return { status, failingSinceMs: isFailing ? atMs : null, retries: 0, nextRetryMs: null }
}

/**
 * Whether charges have failed, other than set by an operator. This can be true with nothing due: after a server was killed between
 * a charge and its record.
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
  const next = retryDays[retries]
  if (next === undefined) return { status: 'IN_DEBT', failingSinceMs, retries, nextRetryMs: null }
  // A worker that was stopped for long must not use up all attempts at once.
  return { ...account, retries, nextRetryMs: Math.max(failingSinceMs + days(next), atMs + days(1)) }
}
