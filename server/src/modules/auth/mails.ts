import type { Config } from '../../config/config.ts'
import { renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'

type MailRecipient = { email: string; fullName: string }

const ifNotYou = 'If this was not you, you can ignore this mail.'

/** The link opens the API, which redirects to the console (contract 10). */
export function confirmationMail(config: Config, { email, fullName }: MailRecipient, code: string): Mail {
  return renderMail({
    to: email,
    subject: 'Confirm your email',
    name: fullName,
    paragraphs: ['Someone signed up for Shoal with this email. Please confirm that it is yours.'],
    button: {
      label: 'Confirm email',
      url: `${config.publicUrl}/api/v1/auth/email/confirm?code=${encodeURIComponent(code)}`,
    },
    note: `The link works for three days. ${ifNotYou}`,
  })
}

/** Sent to the owner of an account when someone signs up with its email; the sign-up itself reveals nothing. */
export function alreadySignedUpMail(config: Config, { email, fullName }: MailRecipient): Mail {
  return renderMail({
    to: email,
    subject: 'You already have an account',
    name: fullName,
    paragraphs: [
      'Someone, probably you, signed up for Shoal with this email. It already has an account, so no new one was created.',
      'Please sign in. If you have forgotten your password, set a new one.',
    ],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore` },
    note: ifNotYou,
  })
}

export function restoreMail(config: Config, { email, fullName }: MailRecipient, token: string): Mail {
  return renderMail({
    to: email,
    subject: 'Set a new password',
    name: fullName,
    paragraphs: ['Someone, probably you, requested a new password for your account.'],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore/confirm/${encodeURIComponent(token)}` },
    note: `The link works once, for one hour. ${ifNotYou}`,
  })
}

/** Sent after every change, so that the owner notices one by someone else. */
export function passwordChangedMail(config: Config, { email, fullName }: MailRecipient): Mail {
  return renderMail({
    to: email,
    subject: 'Your password was changed',
    name: fullName,
    paragraphs: [
      'The password of your account was changed, and other browsers were signed out. API tokens still work.',
      `If this was not you, set a new password immediately and write to ${config.SHOAL_SUPPORT_EMAIL}.`,
    ],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore` },
  })
}
