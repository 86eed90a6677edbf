import type { Config } from '../../../config/config.ts'
import { nameInMail, renderMail } from '../../../mail/index.ts'
import type { Mail } from '../../../mail/mailer.ts'
import { alertsUrl, detailsOf, digestTitle, helpUrlOf, titleOf, urlOf, type Message, type Messages } from './message.ts'

/** Maximum number of alerts listed in a digest; a last line counts the others. */
const maxListed = 100

/** Returns the email with one message. */
export function alertMail(config: Config, to: string, original: Message): Mail {
  const message = withSafeName(original)
  const { squid, organization, type } = message
  const helpUrl = type === 'alert.opened' ? helpUrlOf(config, message) : null
  return renderMail({
    to,
    subject: titleOf(message),
    name: null,
    paragraphs: [`${titleOf(message)}.`, ...detailsOf(message)],
    button: { label: squid ? `Open ${squid.name}@${squid.slot}` : 'Open alerts', url: urlOf(config, message) },
    ...(helpUrl ? { link: { label: 'Causes and remedies of this alert', url: helpUrl } } : {}),
    note: footerOf(config, organization),
  })
}

/** Returns one email with all messages of a digest. */
export function digestMail(config: Config, to: string, [original, ...others]: Messages): Mail {
  const first = withSafeName(original)
  const messages: Messages = [first, ...others.map(withSafeName)]
  const listed = messages.slice(0, maxListed).map(titleOf)
  const more = messages.length - listed.length
  return renderMail({
    to,
    subject: digestTitle(messages),
    name: null,
    paragraphs: ['Many alerts changed within a minute; this email lists them:'],
    list: more > 0 ? [...listed, `… and ${more} more`] : listed,
    button: { label: 'Open alerts', url: alertsUrl(config, first.organization.code) },
    note: footerOf(config, first.organization),
  })
}

const withSafeName = (message: Message): Message => {
  const { code, name } = message.organization
  return { ...message, organization: { code, name: nameInMail(name ?? code) } }
}

const footerOf = (config: Config, { code, name }: Message['organization']) =>
  `You receive this email because alerts of ${name ?? code} are sent to this address. To turn them off, mute some of them or change the rules: ${alertsUrl(config, code)}`
