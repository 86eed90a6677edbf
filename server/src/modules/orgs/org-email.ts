import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { refuse } from '../../errors.ts'
import { hashOf, isMailAllowed } from '../auth/index.ts'
import { orgEmailMail } from './mails.ts'
import { changeOrg, findOrgByEmailLink, getOrg, type OrgRow } from './store.ts'

const linkLifetimeMs = days(3)

/**
 * Notes where notifications shall go and sends a link there; until it is opened they go where they went. An older link is
 * worth nothing from now on.
 */
export async function sendOrgEmailConfirmation(app: App, orgId: number, email: string): Promise<OrgRow> {
  const code = randomBytes(32).toString('base64url')
  const org = await changeOrg(app.db, orgId, {
    pendingEmail: email,
    pendingEmailLinkHash: hashOf(code),
    pendingEmailExpiresAt: new Date(app.clock.now().getTime() + linkLifetimeMs),
  })
  if (await isMailAllowed(app, 'organization', email)) await app.mailer.send(orgEmailMail(app.config, org, email, code))
  return org
}

/** @throws Refusal 405 when nothing waits to be confirmed */
export async function resendOrgEmail(app: App, orgId: number, email: string | undefined): Promise<void> {
  const org = await getOrg(app.db, orgId)
  const wanted = email ?? org.pendingEmail
  if (!wanted || wanted === org.email)
    throw refuse('ALREADY_CONFIRMED', 'The email of the organization is confirmed already.')
  await sendOrgEmailConfirmation(app, orgId, wanted)
}

/** The organization as it is now, and as it was; null for a link that is not good any more. */
export async function confirmOrgEmail(app: App, code: string): Promise<{ org: OrgRow; before: string | null } | null> {
  const found = await findOrgByEmailLink(app.db, hashOf(code), app.clock.now())
  if (!found) return null
  const org = await changeOrg(app.db, found.id, {
    email: found.pendingEmail,
    pendingEmail: null,
    pendingEmailLinkHash: null,
    pendingEmailExpiresAt: null,
  })
  return { org, before: found.email }
}
