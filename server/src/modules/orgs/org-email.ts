import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { invalidConfirmationLink, refuse } from '../../errors.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { isMailAllowed } from '../auth/index.ts'
import { orgEmailMail } from './mails.ts'
import { changeOrg, findOrgByEmailLink, getOrg, type OrgRow } from './store.ts'

const linkLifetimeMs = days(3)

/**
 * Saves a new address for notifications and emails a confirmation link to it. The old address is used until the new one is confirmed.
 * Older links become invalid.
 */
export async function sendOrgEmailConfirmation(app: App, orgId: number, email: string): Promise<OrgRow> {
  const code = randomBytes(32).toString('base64url')
  const org = await changeOrg(app.db, orgId, {
    pendingEmail: email,
    pendingEmailLinkHash: hashSecret(code),
    pendingEmailExpiresAt: new Date(app.clock.now().getTime() + linkLifetimeMs),
  })
  if (await isMailAllowed(app, 'organization', email)) await app.mailer.send(orgEmailMail(app.config, org, email, code))
  return org
}

/**
 * Sends a new confirmation link to `email`, or to the pending address if `email` is undefined.
 * @throws Refusal 405 when the address is already confirmed or none is pending
 */
export async function resendOrgEmail(app: App, orgId: number, email: string | undefined): Promise<void> {
  const org = await getOrg(app.db, orgId)
  const address = email ?? org.pendingEmail
  if (!address || address === org.email)
    throw refuse('ALREADY_CONFIRMED', 'The email of the organization is already confirmed.')
  await sendOrgEmailConfirmation(app, orgId, address)
}

/**
 * Confirms the pending email. Returns the updated organization and its previous email.
 * @throws Refusal 400 for an invalid or expired link
 */
export async function confirmOrgEmail(app: App, code: string): Promise<{ org: OrgRow; before: string | null }> {
  const pending = await findOrgByEmailLink(app.db, hashSecret(code), app.clock.now())
  if (!pending) throw invalidConfirmationLink()
  const org = await changeOrg(app.db, pending.id, {
    email: pending.pendingEmail,
    pendingEmail: null,
    pendingEmailLinkHash: null,
    pendingEmailExpiresAt: null,
  })
  return { org, before: pending.email }
}
