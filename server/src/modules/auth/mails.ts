import type { Config } from '../../config/config.ts'
import { renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'

type MailRecipient = { email: string; fullName: string }

const ifNotYou = 'If this was not you, ignore this mail: nothing happens.'

/** The link leads to the API, which sends the browser on to the console (contract 10). */
export function confirmationMail(config: Config, { email, fullName }: MailRecipient, code: string): Mail {
  return renderMail({
    to: email,
    subject: 'Confirm your email',
    name: fullName,
    paragraphs: ['Somebody signed up for Shoal with this email. Please confirm that it is yours.'],
    button: {
      label: 'Confirm email',
      url: `${config.publicUrl}/api/v1/auth/email/confirm?code=${encodeURIComponent(code)}`,
    },
    note: `The link works for three days. ${ifNotYou}`,
  })
}

/** To the owner of an account when somebody signs up with its email: the one who signed up is told nothing. */
export function alreadySignedUpMail(config: Config, { email, fullName }: MailRecipient): Mail {
  return renderMail({
    to: email,
    subject: 'You have an account already',
    name: fullName,
    paragraphs: [
      'Somebody, probably you, signed up for Shoal with this email. There is an account with it already, so no new one was made.',
      'Sign in to it. If you do not remember its password, set a new one.',
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
    paragraphs: ['Somebody, probably you, asked to set a new password for your account.'],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore/confirm/${encodeURIComponent(token)}` },
    note: `The link works once, for one hour. ${ifNotYou}`,
  })
}

/** Told after the fact, so that an owner learns of a change that was not theirs. */
export function passwordChangedMail(config: Config, { email, fullName }: MailRecipient): Mail {
  return renderMail({
    to: email,
    subject: 'Your password was changed',
    name: fullName,
    paragraphs: [
      'The password of your account was changed, and other browsers were signed out. API tokens go on working.',
      `If this was not you, set a new password at once and write to ${config.SHOAL_SUPPORT_EMAIL}.`,
    ],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore` },
  })
}
