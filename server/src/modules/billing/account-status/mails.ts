import { dayOf } from '../../../clock.ts'
import type { Config } from '../../../config/config.ts'
import { nameInMail, renderMail } from '../../../mail/index.ts'
import type { Mail } from '../../../mail/mailer.ts'
import type { OrgRow } from '../../orgs/index.ts'
import { retryDays, terminatedAfterDays, type AccountStatus } from './account-status.ts'

const nameOf = (org: Pick<OrgRow, 'name' | 'code'>) => nameInMail(org.name ?? org.code)

/** Returns the email about a new account status: what changed, why, and what to do. */
export function statusMail(config: Config, to: string, org: OrgRow, account: AccountStatus, reason: string): Mail {
  const { subject, paragraphs } = contentOf(org, account, reason)
  return renderMail({
    to,
    subject,
    name: null,
    paragraphs,
    button: { label: 'Open billing', url: `${config.publicUrl}/billing?organization=${org.code}` },
  })
}

function contentOf(org: OrgRow, { status, retries, nextRetryMs, failingSinceMs }: AccountStatus, reason: string) {
  const name = nameOf(org)
  if (status === 'PAYMENT_ISSUES')
    return {
      subject: `Payment of ${name} failed`,
      paragraphs: [
        `Payment method couldn't be charged. Please update it. Reason: ${reason}`,
        `Everything keeps running. ${nextRetryMs === null ? '' : `We will try again on ${dayOf(nextRetryMs)} (attempt ${retries + 1} of ${retryDays.length}).`}`,
      ],
    }
  if (status === 'IN_DEBT')
    return {
      subject: `Payment of ${name} is overdue`,
      paragraphs: [
        'Payment is overdue. Please update your card details.',
        `Squids keep running, but you cannot deploy and RPC endpoints do not respond. Without a payment, everything is hibernated on ${dayOf((failingSinceMs ?? 0) + terminatedAfterDays * 86_400_000)}.`,
      ],
    }
  if (status === 'TERMINATED')
    return {
      subject: `Squids of ${name} are hibernated`,
      paragraphs: [
        'Payment is overdue. All squids of the organization were hibernated. Their data is kept, and they start again as soon as the payment arrives.',
        'If you want to leave, take your data with you: the Billing page exports every database and all receipts.',
      ],
    }
  return {
    subject: `${name} is active`,
    paragraphs: [
      'Billing is set up and nothing is due. Squids that were hibernated for an overdue payment start again now.',
    ],
  }
}

/** Returns the email for spending that has reached 75, 90 or 100 % of the cap. */
export function capMail(
  config: Config,
  to: string,
  org: OrgRow,
  cap: { percent: number; spentUsd: string; capUsd: string; consequences: string },
): Mail {
  return renderMail({
    to,
    subject: `${nameOf(org)} has used ${cap.percent} % of its spending cap`,
    name: null,
    paragraphs: [
      `This month's usage is $${cap.spentUsd}, and the cap is $${cap.capUsd}.`,
      cap.percent >= 100 ? `Now ${cap.consequences}.` : `At 100 %, ${cap.consequences}.`,
    ],
    button: { label: 'Open limits', url: `${config.publicUrl}/billing/limits?organization=${org.code}` },
  })
}
