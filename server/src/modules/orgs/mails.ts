import type { RoleType } from '@shoal/contract'
import type { Config } from '../../config/config.ts'
import { nameInMail, renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'
import type { OrgRow } from './store.ts'

const displayName = ({ name, code }: Pick<OrgRow, 'name' | 'code'>) => nameInMail(name ?? code)

type Invitation = {
  id: number
  /** The secret in the link. */
  key: string
  email: string
  type: RoleType
  org: OrgRow
  invitedBy: { fullName: string; email: string }
}

/**
 * Returns an invitation email. Its link accepts the invitation for a user who is signed in with this email address (spec 2.2).
 */
export function invitationMail(config: Config, { id, key, email, type, org, invitedBy }: Invitation): Mail {
  // The pages for signing in and signing up are filled in with this email address.
  const link = new URLSearchParams({ organization: org.code, acceptInviteId: String(id), inviteKey: key, email })
  return renderMail({
    to: email,
    subject: `Invitation to ${displayName(org)}`,
    name: null,
    paragraphs: [
      `${nameInMail(invitedBy.fullName)} (${invitedBy.email}) invites you to the organization "${displayName(org)}" on Shoal, as ${type}.`,
      `Sign in, or sign up, with this email (${email}) to accept.`,
    ],
    button: { label: 'Accept the invitation', url: `${config.publicUrl}/squids?${link.toString()}` },
    note: 'The link works for 14 days. If you did not expect this email, you can ignore it.',
  })
}

/**
 * Returns the URL of the page that confirms a notification email, and then opens the organization's settings for members (spec
 * 2.6).
 */
export const verificationUrl = (config: Config, code: string): string =>
  `${config.publicUrl}/verify-email?${new URLSearchParams({ code }).toString()}`

/** Returns the email with the link that confirms an organization's notification email. `code`: the secret in the link. */
export function orgEmailMail(config: Config, org: OrgRow, email: string, code: string): Mail {
  return renderMail({
    to: email,
    subject: `Confirm the email of ${displayName(org)}`,
    name: null,
    paragraphs: [
      `The organization "${displayName(org)}" on Shoal wants to send its notifications to this address. Please confirm it.`,
    ],
    button: { label: 'Confirm email', url: verificationUrl(config, code) },
    note: 'The link works for three days. If you did not expect this email, you can ignore it.',
  })
}
