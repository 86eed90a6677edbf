import type { App } from '../../app.ts'
import { refuse } from '../../errors.ts'
import { nameInMail, renderMail } from '../../mail/index.ts'
import type { AuditEntry } from '../call.ts'
import { changeOrg, listAdminEmails, suspensionOf, type OrgRow } from '../orgs/index.ts'
import { lockOrgByCode } from './find-org.ts'

/**
 * Suspends an organization in the caller's transaction: new deployments, restarts and RPC requests are refused from now on, and
 * billing's next round hibernates its versions. Its administrators receive the reason by email. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown code; 405 if it is suspended already
 */
export async function suspendOrg(app: App, code: string, reason: string): Promise<AuditEntry> {
  const org = await lockOrgByCode(app, code)
  if (org.suspendedAt) throw refuse('SUSPENDED', `Organization ${org.code} is suspended already.`)
  const changed = await changeOrg(app.db, org.id, { suspendedAt: app.clock.now(), suspensionReason: reason })
  await sendToAdmins(app, org, {
    subject: `${titleOf(org)} is suspended`,
    paragraphs: [
      `The operator of this installation has suspended the organization "${titleOf(org)}". The reason: ${reason}`,
      'Its squids are hibernated, and deployments and RPC requests are refused. All data is kept. Squids start again when the suspension ends.',
    ],
  })
  return { orgIds: [org.id], subject: org.code, before: suspensionOf(org), after: suspensionOf(changed) }
}

/**
 * Ends the suspension in the caller's transaction; billing's next round restarts the versions that it hibernated.
 * @throws Refusal 404 for an unknown code; 405 if it is not suspended
 */
export async function resumeOrg(app: App, code: string): Promise<AuditEntry> {
  const org = await lockOrgByCode(app, code)
  if (!org.suspendedAt) throw refuse('NOT_SUSPENDED', `Organization ${org.code} is not suspended.`)
  await changeOrg(app.db, org.id, { suspendedAt: null, suspensionReason: null })
  await sendToAdmins(app, org, {
    subject: `${titleOf(org)} is no longer suspended`,
    paragraphs: [
      `The operator of this installation has ended the suspension of the organization "${titleOf(org)}". Its squids start again now.`,
    ],
  })
  return { orgIds: [org.id], subject: org.code, before: suspensionOf(org), after: null }
}

const titleOf = ({ name, code }: OrgRow) => nameInMail(name ?? code)

async function sendToAdmins(app: App, org: OrgRow, mail: { subject: string; paragraphs: string[] }): Promise<void> {
  const button = { label: 'Open Shoal', url: `${app.config.publicUrl}/squids?organization=${org.code}` }
  for (const to of await listAdminEmails(app.db, org.id))
    await app.mailer.send(renderMail({ to, name: null, button, ...mail }))
}
