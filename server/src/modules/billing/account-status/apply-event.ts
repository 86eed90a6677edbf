import type { App } from '../../../app.ts'
import type { Db } from '../../../db/database.ts'
import { recordAudit } from '../../audit/index.ts'
import { getOrg, listAdminEmails, setOrgStatus, type OrgRow } from '../../orgs/index.ts'
import { changeBillingAccount, lockAccount } from '../payments/payment-store.ts'
import { requestHibernationsForDebt, requestRestartsAfterDebt } from '../limits/limits-store.ts'
import { statusMail } from './mails.ts'
import { nextAccountStatus, type AccountEvent } from './account-status.ts'

/** Applies an event to an organization's account, and sends the emails about the new status. */
export async function changeStatus(app: App, orgId: number, event: AccountEvent, reason: string): Promise<void> {
  await app.db.transaction(async (tx) => {
    for (const mail of await applyAccountEvent(app, tx, orgId, event, reason)) await app.mailer.send(mail)
  })
}

/** Applies an event to an organization in the caller's transaction and records it in the audit log. Returns the emails to send. */
export async function applyAccountEvent(
  app: Pick<App, 'clock' | 'config'>,
  tx: Db,
  orgId: number,
  event: AccountEvent,
  reason: string,
) {
  const account = await lockAccount(tx, orgId)
  const org = await getOrg(tx, orgId)
  const before = {
    status: org.status,
    failingSinceMs: account.failingSince?.getTime() ?? null,
    retries: account.retries,
    nextRetryMs: account.nextRetryAt?.getTime() ?? null,
  }
  const after = nextAccountStatus(before, event)
  const now = app.clock.now()
  await changeBillingAccount(tx, orgId, {
    failingSince: dateOf(after.failingSinceMs),
    retries: after.retries,
    nextRetryAt: dateOf(after.nextRetryMs),
  })
  const isRetry = after.status === 'PAYMENT_ISSUES' && after.retries !== before.retries
  if (after.status === before.status && !isRetry) return []
  if (after.status !== before.status) {
    await setOrgStatus({ db: tx }, orgId, after.status)
    if (after.status === 'TERMINATED') await requestHibernationsForDebt(tx, orgId, now)
    if (after.status === 'ACTIVE') await requestRestartsAfterDebt(tx, orgId)
  }
  await recordAudit(tx, {
    at: now,
    action: 'billing.changeStatus',
    orgId,
    subject: org.code,
    before: { status: before.status, retries: before.retries },
    after: { status: after.status, retries: after.retries, reason },
  })
  // A deleted organization only receives the final invoice email, which contains the status of the payment.
  if (org.deletedAt !== null) return []
  const to = await recipientsOf(tx, org)
  return to.map((email) => statusMail(app.config, email, org, after, reason))
}

/**
 * Returns the email address of the billing details; without one, the email of the organization; without both, those of its
 * administrators.
 */
export async function recipientsOf(db: Db, org: OrgRow): Promise<string[]> {
  const email = org.billingDetails?.email ?? org.email
  return email ? [email] : await listAdminEmails(db, org.id)
}

const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms))
