import type { Config } from '../../../config/config.ts'
import { alertsUrl, detailsOf, digestTitle, helpUrlOf, titleOf, urlOf, type Message, type Messages } from './message.ts'

/** Limits of a message: Slack truncates text at 40,000 characters, compatible services much earlier (Discord at 2,000). */
const maxLines = 15
const maxCharacters = 1_500

const icons = { 'alert.opened': { CRITICAL: '🔴', WARNING: '🟡' }, 'alert.ended': '✅', 'alert.test': '🔔' } as const
const iconOf = ({ type, severity }: Message) => (type === 'alert.opened' ? icons[type][severity] : icons[type])

/**
 * Returns the body for a Slack incoming webhook. It has only the field `text`, since services that are
 * compatible with Slack differ in all other fields.
 */
export function slackBody(config: Pick<Config, 'publicUrl'>, message: Message): { text: string } {
  const helpUrl = message.type === 'alert.opened' ? helpUrlOf(config, message) : null
  const lines = [
    ...detailsOf(message),
    urlOf(config, message),
    ...(helpUrl ? [`Causes and remedies: ${helpUrl}`] : []),
  ].map((line) => escapeText(line))
  return { text: [`${iconOf(message)} *${escapeText(titleOf(message))}*`, ...lines].join('\n') }
}

/** Returns the body with the titles of many messages. */
export function slackDigest(config: Pick<Config, 'publicUrl'>, messages: Messages): { text: string } {
  const lines = messages.slice(0, maxLines).map((message) => `${iconOf(message)} ${escapeText(titleOf(message), 100)}`)
  const more = messages.length - lines.length
  const url = alertsUrl(config, messages[0].organization.code)
  const text = [
    `*${escapeText(digestTitle(messages))}*`,
    ...lines,
    ...(more > 0 ? [`… and ${more} more`] : []),
    escapeText(url),
  ]
  return { text: text.join('\n') }
}

/** Truncates the text, and escapes Slack's three control characters and mentions of a whole channel, such as `@everyone`. */
function escapeText(text: string, maxLength = maxCharacters): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
  return short
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?=everyone|here|channel|all)/gi, '@\u200b')
}
