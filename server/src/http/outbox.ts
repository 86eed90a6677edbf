import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { escapeHtml, isOutboxKey, newestMails, openMail, outboxCookie } from '../mail/index.ts'
import type { Mail } from '../mail/mailer.ts'
import { cookieOf } from './request.ts'

const maxShownMails = 100

/**
 * Serves `/outbox`, which shows the emails that would have been sent. Their links give access to every account, so the page exists only
 * under `npm start` without a mail server, and only for browsers that have its key. Requests from this machine also need the key, since
 * they may come from a squid. The key moves from the URL to a cookie, so that it does not stay in the address bar.
 */
export function mountOutbox(server: FastifyInstance, app: App): void {
  if (app.outboxKey === null) return
  server.get('/outbox', async (request, reply) => {
    reply.headers(pageHeaders)
    const { key } = request.query as { key?: string }
    if (isOutboxKey(app, key)) return reply.header('set-cookie', keyCookies(app)).redirect('/outbox', 302)
    if (!isOutboxKey(app, cookieOf(request.headers.cookie ?? '', outboxCookie)))
      return reply.code(403).type('text/html').send(page(keyRequired))
    const rows = await withRequestTimeouts(() => newestMails(app.db, maxShownMails))
    const mailsHtml = rows.map((row) => mailHtml(openMail(app, row), row.createdAt)).join('')
    return reply.type('text/html').send(page(intro + (mailsHtml || noMails)))
  })
}

/** Styles of the page, with the colours of the console (`console/src/ui/tokens.css`). */
const styles = `
:root {
  color-scheme: light dark;
  --canvas: light-dark(#f7f9fa, #0b1216); --card: light-dark(#fff, #0f181d); --line: light-dark(#e3e9ec, #1d2b33);
  --ink: light-dark(#0f1a21, #e7eff3); --ink-2: light-dark(#4a5a65, #a0b2bd); --accent: light-dark(#0b7285, #3fd0d4);
}
* { box-sizing: border-box }
body { margin: 0; background: var(--canvas); color: var(--ink); font: 14px/1.5 system-ui, sans-serif }
main { max-width: 720px; margin: 0 auto; padding: 40px 16px }
h1 { font-size: 20px; line-height: 1.3; margin: 0 0 4px } h2 { font-size: 15px; margin: 0; overflow-wrap: anywhere }
p { margin: 0; color: var(--ink-2) }
a { color: var(--accent); text-underline-offset: 3px }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px }
article, .empty { background: var(--card); border: 1px solid var(--line); border-radius: 8px; margin-top: 16px }
article header { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 16px; padding: 12px 16px; border-bottom: 1px solid var(--line) }
article header p { overflow-wrap: anywhere }
h2 { flex: 0 0 100% }
pre { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; padding: 16px }
.empty { padding: 32px 16px; text-align: center }
code { font: 13px ui-monospace, monospace }
`

const pageHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

/** One cookie for the page, and one for the sign-in options, which link to the page. No other path receives the key. */
const keyCookies = ({ config, outboxKey }: App) =>
  ['/outbox', '/api/v1/auth'].map(
    (path) =>
      `${outboxCookie}=${outboxKey}; Path=${path}; HttpOnly; SameSite=Strict${config.publicUrl.startsWith('https:') ? '; Secure' : ''}`,
  )

const intro =
  '<p>This installation sends no emails; they are kept here for a week. Reload the page to see new ones.</p>'
const noMails = '<p class="empty">No emails yet. Confirmation links, recovery links and invitations appear here.</p>'
const keyRequired =
  '<p class="empty">This page needs its key. Open the URL that Shoal printed in its terminal at its last start; it ends in <code>/outbox?key=…</code></p>'

const mailHtml = ({ to, subject, text }: Mail, createdAt: Date) => `
<article><header><h2>${escapeHtml(subject)}</h2>
<p>To ${escapeHtml(to)}</p><p><time datetime="${createdAt.toISOString()}">${timeText(createdAt)}</time></p></header>
<pre>${withLinks(text)}</pre></article>`

/** For example `23 Nov 2026, 02:51:07 UTC`. */
const timeText = (time: Date) =>
  `${time.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' })} UTC`

const withLinks = (text: string) =>
  text
    .split(/(https?:\/\/\S+)/)
    .map((part, index) =>
      index % 2 === 0 ? escapeHtml(part) : `<a href="${escapeHtml(part)}">${escapeHtml(part)}</a>`,
    )
    .join('')

const page = (content: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Outbox · Shoal</title>
<style>${styles}</style></head>
<body><main><h1>Outbox</h1>${content}</main></body></html>`
