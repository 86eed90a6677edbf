import type { Config } from '../../../config/config.ts'
import { alertsUrl, detailsOf, digestTitle, titleOf, urlOf, type Message, type Messages } from './message.ts'

/** Slack truncates texts at 40,000 characters; compatible services do so much earlier (Discord: 2,000). */
const maxLines = 15
const maxCharacters = 1_500

const signs = { 'alert.opened': { CRITICAL: '🔴', WARNING: '🟡' }, 'alert.ended': '✅', 'alert.test': '🔔' } as const
const signOf = ({ type, severity }: Message) => (type === 'alert.opened' ? signs[type][severity] : signs[type])

/** The body for an incoming webhook of Slack. Only `text`, since compatible services differ in everything else. */
export function slackBody(config: Pick<Config, 'publicUrl'>, message: Message): { text: string } {
  const lines = [...detailsOf(message).map((sentence) => plain(sentence)), plain(urlOf(config, message))]
  return { text: [`${signOf(message)} *${plain(titleOf(message))}*`, ...lines].join('\n') }
}

export function slackDigest(config: Pick<Config, 'publicUrl'>, messages: Messages): { text: string } {
  const lines = messages.slice(0, maxLines).map((message) => `${signOf(message)} ${plain(titleOf(message), 100)}`)
  const more = messages.length - lines.length
  const url = alertsUrl(config, messages[0].organization.code)
  const text = [`*${plain(digestTitle(messages))}*`, ...lines, ...(more > 0 ? [`… and ${more} more`] : []), plain(url)]
  return { text: text.join('\n') }
}

/** Escapes Slack's three control characters and the mentions of a whole channel, such as `@everyone`. Truncates the text. */
function plain(text: string, maxLength = maxCharacters): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text
  return short
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?=everyone|here|channel|all)/gi, '@\u200b')
}
