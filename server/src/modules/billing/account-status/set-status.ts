import type { OrgStatus } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { move } from '../payments/collect.ts'

/**
 * Sets the status of an organization for the operator, with all that comes with it: TERMINATED hibernates its versions, ACTIVE
 * wakes those, and the organization gets the mail.
 */
export async function setStatus(app: App, orgId: number, status: OrgStatus): Promise<void> {
  await move(app, orgId, { type: 'operator', status, atMs: app.clock.now().getTime() }, 'set by the operator')
}
