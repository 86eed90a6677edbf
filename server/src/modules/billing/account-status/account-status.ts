import { isUnpaid, type OrgStatus } from '@shoal/contract'
import { days } from '../../../clock.ts'

/** How an organization stands with what it owes (spec 4). */
export type AccountStatus = {
  status: OrgStatus
  /** Since when a charge fails. */
  failingSinceMs: number | null
  /** Scheduled tries after the first one. */
  retries: number
  nextRetryMs: number | null
}

export type AccountEvent =
  /** A card was saved and nothing is due, or all that was due is paid. */
  | { type: 'settled' }
  /** A charge failed. Tries that people ask for do not use up the schedule. */
  | { type: 'failed'; atMs: number; isScheduled: boolean }
  | { type: 'time'; atMs: number }
  /** An operator sets the status by hand, whatever is due. */
  | { type: 'operator'; status: OrgStatus; atMs: number }

/** Days after the first failure on which a charge is tried again: eight times in fourteen days. */
export const retryDays = [1, 2, 4, 6, 8, 10, 12, 14] as const
/** Days after the first failure on which everything is hibernated. */
export const terminatedAfterDays = 28

/**
 * DRAFT → ACTIVE → PAYMENT_ISSUES (tried again, all runs on) → IN_DEBT (no deploys, no RPC) → TERMINATED (all hibernated, data
 * kept). Settling leads back to ACTIVE from everywhere.
 */
export function nextAccountStatus(standing: AccountStatus, event: AccountEvent): AccountStatus {
  if (event.type === 'settled') return { status: 'ACTIVE', failingSinceMs: null, retries: 0, nextRetryMs: null }
  if (event.type === 'operator') return setByOperator(event.status, event.atMs)
  if (event.type === 'failed') return afterFailure(standing, event.atMs, event.isScheduled)
  const { status, failingSinceMs } = standing
  const isOver = failingSinceMs !== null && event.atMs >= failingSinceMs + days(terminatedAfterDays)
  return status === 'IN_DEBT' && isOver ? { ...standing, status: 'TERMINATED', nextRetryMs: null } : standing
}

/** Without a schedule: a charge that is due is not tried again before somebody pays or the operator sets another status. */
function setByOperator(status: OrgStatus, atMs: number): AccountStatus {
  const isFailing = status === 'PAYMENT_ISSUES' || isUnpaid(status)
  return { status, failingSinceMs: isFailing ? atMs : null, retries: 0, nextRetryMs: null }
}

/**
 * Whether charges failed, other than by an operator's word. It may be so with nothing due: a server that ends between a charge
 * and its note leaves it so.
 */
export const hasFailedCharges = (standing: Pick<AccountStatus, 'retries'> & { nextRetryAt: Date | null }): boolean =>
  standing.retries > 0 || standing.nextRetryAt !== null

function afterFailure(standing: AccountStatus, atMs: number, isScheduled: boolean): AccountStatus {
  const { status, failingSinceMs } = standing
  if (status === 'IN_DEBT' || status === 'TERMINATED') return standing
  if (status !== 'PAYMENT_ISSUES' || failingSinceMs === null)
    return { status: 'PAYMENT_ISSUES', failingSinceMs: atMs, retries: 0, nextRetryMs: atMs + days(retryDays[0]) }
  if (!isScheduled) return standing
  const retries = standing.retries + 1
  const next = retryDays[retries]
  if (next === undefined) return { status: 'IN_DEBT', failingSinceMs, retries, nextRetryMs: null }
  // A worker that was away for long must not use up all tries at once.
  return { ...standing, retries, nextRetryMs: Math.max(failingSinceMs + days(next), atMs + days(1)) }
}
