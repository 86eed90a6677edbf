import type { OrgStatus } from '@shoal/contract'
import type { App } from '../../app.ts'
import { changeStatus } from './account-status/apply-event.ts'
import { Big } from 'big.js'
import { changeBillingAccount } from './payments/payment-store.ts'

/**
 * Sets the status of an organization as the operator requests, and sends an email about the new status to the organization.
 * TERMINATED hibernates its versions, and ACTIVE restarts them.
 */
export async function setStatus(app: App, orgId: number, status: OrgStatus): Promise<void> {
  await changeStatus(
    app,
    orgId,
    { type: 'operator', status, atMs: app.clock.now().getTime() },
    'The operator has set this status.',
  )
}

/**
 * Sets the discount on all usage of an organization, starting with the current month. Returns the discount without trailing
 * zeros.
 * @throws Error unless it is a percentage with at most two fraction digits
 */
export async function setDiscount(app: Pick<App, 'db'>, orgId: number, percent: string): Promise<string> {
  if (!/^\d{1,3}(\.\d{1,2})?$/.test(percent) || new Big(percent).gt(100))
    throw new Error('--percent must be a number from 0 to 100, as in 15 or 12.5')
  await changeBillingAccount(app.db, orgId, { discountPercent: percent })
  return new Big(percent).toFixed()
}
