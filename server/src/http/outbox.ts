import type { FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { notFound } from '../errors.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { escapeHtml, newestMails, openMail } from '../mail/index.ts'
import type { Mail } from '../mail/mailer.ts'
import { isLocal } from './request.ts'

const shownMails = 100

/**
 * `/outbox`: the mails that would have been sent. Their links give access to every account, so the page exists only under
 * `npm start` without a mail server, and only for requests from this machine.
 */
export function mountOutbox(server: FastifyInstance, app: App): void {
  if (!app.config.SHOAL_OUTBOX || app.config.SHOAL_MAIL_URL) return
  server.get('/outbox', async (request, reply) => {
    if (!isLocal(request)) throw notFound('Page')
    const rows = await withRequestTimeouts(() => newestMails(app.db, shownMails))
    const shown = rows.map((row) => mailHtml(openMail(app, row), row.createdAt)).join('')
    return reply
      .headers({
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      })
      .type('text/html')
      .send(page(shown || '<p>No mails yet. Confirmation links, recovery links and invitations appear here.</p>'))
  })
}

const mailHtml = ({ to, subject, text }: Mail, createdAt: Date) => `
<article><h2>${escapeHtml(subject)}</h2>
<p>To ${escapeHtml(to)}, <time datetime="${createdAt.toISOString()}">${createdAt.toISOString()}</time></p>
<pre>${withLinks(text)}</pre></article>`

const withLinks = (text: string) =>
  text
    .split(/(https?:\/\/\S+)/)
    .map((part, index) =>
      index % 2 === 0 ? escapeHtml(part) : `<a href="${escapeHtml(part)}">${escapeHtml(part)}</a>`,
    )
    .join('')

const page = (content: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Outbox · Shoal</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 44em; margin: 3em auto; padding: 0 1em }
article { border: 1px solid #8884; border-radius: 6px; padding: 1em; margin: 1em 0 }
h2 { font-size: 1.1em; margin: 0 } p { margin: 0.2em 0 } pre { white-space: pre-wrap; overflow-wrap: anywhere }
</style></head>
<body><main><h1>Outbox</h1><p>No mail server is configured, so mails are kept here. Only this machine can read them. Reload to see new ones.</p>${content}</main></body></html>`
