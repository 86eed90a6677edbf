import type { App } from '../../app.ts'
import type { AuditEntry } from '../call.ts'
import { changeOrg } from '../orgs/index.ts'
import { lockOrgByCode } from './find-org.ts'

/**
 * Changes how many squids an organization may have. Existing squids above the new limit are kept. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown code
 */
export async function changeLimits(app: App, code: string, squids: number): Promise<AuditEntry> {
  const org = await lockOrgByCode(app, code)
  await changeOrg(app.db, org.id, { squidsLimit: squids })
  return { orgIds: [org.id], subject: org.code, before: { squids: org.squidsLimit }, after: { squids } }
}
