import { hiddenCharacters } from '@shoal/contract'
import type { Mail } from './mailer.ts'

export type MailContent = {
  to: string
  subject: string
  /** The name in the greeting; null for a greeting without a name. */
  name: string | null
  paragraphs: string[]
  /** A bulleted list after the paragraphs. */
  list?: string[]
  button?: { label: string; url: string }
  /** Further reading, after the button. */
  link?: { label: string; url: string }
  /** Small print at the end. */
  note?: string
}

/** Renders an email as plain text and as HTML. Escapes all content, since names and other parts come from users. */
export function renderMail({ to, subject, name, paragraphs, list, button, link, note }: MailContent): Mail {
  const greeting = name ? `Hello ${nameInMail(name)},` : 'Hello,'
  const lines = [
    greeting,
    ...paragraphs,
    ...(list ? [list.map((line) => `- ${line}`).join('\n')] : []),
    ...(button ? [`${button.label}:\n${button.url}`] : []),
    ...(link ? [`${link.label}:\n${link.url}`] : []),
    ...(note ? [note] : []),
  ]
  return {
    to,
    subject: subject.replaceAll(/\s+/g, ' '),
    text: `${lines.join('\n\n')}\n\nShoal\n`,
    html: page(
      subject,
      [greeting, ...paragraphs].map((text) => `<p style="margin:0 0 16px">${escapeHtml(text)}</p>`).join('\n') +
        (list ? listHtml(list) : '') +
        (button ? buttonHtml(button) : '') +
        (link ? linkHtml(link) : '') +
        (note ? `<p style="margin:24px 0 0;font-size:13px;color:#5b6673">${escapeHtml(note)}</p>` : ''),
    ),
  }
}

/**
 * Makes a name that a user chose safe for emails: removes hidden characters, and what email programs turn into links. The contract
 * rejects such names, except domains, but older rows may contain them.
 */
export const nameInMail = (name: string): string =>
  name
    .replaceAll(hiddenCharacters, ' ')
    .replaceAll('://', ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
    // Email programs do not turn a domain that contains a zero-width space into a link.
    .replaceAll(/(?<=[\p{L}\p{N}])\.(?=\p{L}{2})/gu, '.\u200B')

export const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

const listHtml = (list: string[]) =>
  `<ul style="margin:0 0 16px;padding-left:20px">${list.map((line) => `<li>${escapeHtml(line)}</li>`).join('')}</ul>`

const linkHtml = ({ label, url }: NonNullable<MailContent['link']>) =>
  `<p style="margin:0 0 16px"><a href="${escapeHtml(url)}" style="color:#0b6e75">${escapeHtml(label)}</a></p>`

const buttonHtml = ({ label, url }: NonNullable<MailContent['button']>) => `
<p style="margin:24px 0"><a href="${escapeHtml(url)}" style="background:#0b6e75;color:#fff;text-decoration:none;padding:10px 18px;border-radius:6px;display:inline-block">${escapeHtml(label)}</a></p>
<p style="margin:0 0 16px;font-size:13px;color:#5b6673">Or open this address: <a href="${escapeHtml(url)}" style="color:#0b6e75;word-break:break-all">${escapeHtml(url)}</a></p>`

const page = (title: string, body: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body style="margin:0;background:#f4f6f8;font:15px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif;color:#16202b">
<div style="max-width:520px;margin:32px auto;padding:32px;background:#fff;border:1px solid #dfe4ea;border-radius:8px">
${body}
<p style="margin:32px 0 0;color:#5b6673">Shoal</p>
</div></body></html>`
