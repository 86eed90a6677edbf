import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { refuse } from '../../errors.ts'
import { hashOf, isMailAllowed } from '../auth/index.ts'
import { orgEmailMail } from './mails.ts'
import { changeOrg, findOrgByEmailLink, getOrg, type OrgRow } from './store.ts'

const linkLifetimeMs = days(3)

/**
 * Saves a new address for notifications and mails a confirmation link to it; until it is opened, the old address is used. Older
 * links become invalid.
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

/** @throws Refusal 405 when no email is pending */
export async function resendOrgEmail(app: App, orgId: number, email: string | undefined): Promise<void> {
  const org = await getOrg(app.db, orgId)
  const address = email ?? org.pendingEmail
  if (!address || address === org.email)
    throw refuse('ALREADY_CONFIRMED', 'The email of the organization is already confirmed.')
  await sendOrgEmailConfirmation(app, orgId, address)
}

/** The updated organization and its previous email; null for an invalid link. */
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
