import type { RoleType } from '@shoal/contract'
import type { Config } from '../../config/config.ts'
import { renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'
import type { OrgRow } from './store.ts'

const displayName = ({ name, code }: Pick<OrgRow, 'name' | 'code'>) => name ?? code

type Invitation = {
  id: number
  email: string
  type: RoleType
  org: OrgRow
  invitedBy: { fullName: string; email: string }
}

/** The link accepts the invitation for a user signed in with this email (spec 2.2). */
export function invitationMail(config: Config, { id, email, type, org, invitedBy }: Invitation): Mail {
  const link = new URLSearchParams({ organization: org.code, acceptInviteId: String(id) })
  return renderMail({
    to: email,
    subject: `Invitation to ${displayName(org)}`,
    name: null,
    paragraphs: [
      `${invitedBy.fullName} (${invitedBy.email}) invites you to the organization "${displayName(org)}" on Shoal, as ${type}.`,
      `Sign in, or sign up, with this email (${email}) to accept.`,
    ],
    button: { label: 'Accept the invitation', url: `${config.publicUrl}/squids?${link.toString()}` },
    note: 'If you did not expect this mail, you can ignore it.',
  })
}

/** The link opens the API, which redirects to the settings page (spec 2.6). */
export function orgEmailMail(config: Config, org: OrgRow, email: string, code: string): Mail {
  return renderMail({
    to: email,
    subject: `Confirm the email of ${displayName(org)}`,
    name: null,
    paragraphs: [
      `The organization "${displayName(org)}" on Shoal wants to send its notifications to this address. Please confirm it.`,
    ],
    button: {
      label: 'Confirm email',
      url: `${config.publicUrl}/api/v1/orgs/verify-email?code=${encodeURIComponent(code)}`,
    },
    note: 'The link works for three days. If you did not expect this mail, you can ignore it.',
  })
}
