import type { EndedCredentials, OauthProvider } from '@shoal/contract'
import type { Config } from '../../config/config.ts'
import { nameInMail, renderMail } from '../../mail/index.ts'
import type { Mail } from '../../mail/mailer.ts'

type MailRecipient = { email: string; fullName: string }

const ignoreNote = 'If this was not you, you can ignore this email.'

/** The URL of the page that confirms an email; with `email`, the page can suggest the account to sign in with. */
export const confirmationUrl = (config: Config, search: { code: string; email?: string }): string =>
  `${config.publicUrl}/confirm-email?${new URLSearchParams(search).toString()}`

/** Returns the email that confirms an address. `code`: the secret in its link. */
export function confirmationMail(config: Config, { email, fullName }: MailRecipient, code: string): Mail {
  return renderMail({
    to: email,
    subject: 'Confirm your email',
    name: fullName,
    paragraphs: [
      'Someone signed up for Shoal with this email. If it was you, please confirm it. You need to be signed in with the password you chose.',
    ],
    button: { label: 'Confirm email', url: confirmationUrl(config, { code, email }) },
    note: `The link works for three days. ${ignoreNote}`,
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
    note: ignoreNote,
  })
}

/** Returns the email with which a user sets a new password. `token`: the secret in its link. */
export function restoreMail(config: Config, { email, fullName }: MailRecipient, token: string): Mail {
  return renderMail({
    to: email,
    subject: 'Set a new password',
    name: fullName,
    paragraphs: ['Someone, probably you, requested a new password for your account.'],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore/confirm/${encodeURIComponent(token)}` },
    note: `The link works once, for one hour. ${ignoreNote}`,
  })
}

/** The API tokens and providers that give access to an account. */
type Credentials = { apiTokens: { name: string; prefix: string }[]; providers: OauthProvider[] }

/** Sent after every change of a password, so that the owner notices unauthorized changes. Lists the ended and the valid credentials. */
export function passwordChangedMail(
  config: Config,
  { email, fullName }: MailRecipient,
  { ended, valid }: { ended: EndedCredentials; valid: Credentials },
): Mail {
  return renderMail({
    to: email,
    subject: 'Your password was changed',
    name: fullName,
    paragraphs: [
      'The password of your account was changed.',
      `If this was not you, set a new password immediately and write to ${config.SHOAL_SUPPORT_EMAIL}.`,
    ],
    list: [...endedLines(ended), ...credentialLines(valid).map((line) => `Still valid: ${line}`)],
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore` },
  })
}

/** Sent when a provider has confirmed an email that had been confirmed only by opening a link. */
export function accessEndedMail(config: Config, { email, fullName }: MailRecipient, ended: EndedCredentials): Mail {
  return renderMail({
    to: email,
    subject: 'Your old password no longer works',
    name: fullName,
    paragraphs: [
      'You signed in with a provider that confirmed your email. The account also had a password, but there was no proof that the person who set it can read this mailbox. Therefore the password was deleted, and the access listed below was ended.',
    ],
    list: endedLines(ended),
    button: { label: 'Set a new password', url: `${config.publicUrl}/restore` },
  })
}

const providerLabels: Record<OauthProvider, string> = { google: 'Google', github: 'GitHub' }

const endedLines = (ended: EndedCredentials): string[] => [
  `Signed out: ${ended.sessions} ${ended.sessions === 1 ? 'session' : 'sessions'}`,
  ...credentialLines(ended).map((line) => `Ended: ${line}`),
]

const credentialLines = ({ apiTokens, providers }: Credentials): string[] => [
  ...apiTokens.map(({ name, prefix }) => `API token ${nameInMail(name)} (${prefix}…)`),
  ...providers.map((provider) => `Sign-in with ${providerLabels[provider]}`),
]
