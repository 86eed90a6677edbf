import type { App } from '../app.ts'
import { sendMail } from './send-mail.ts'
import { addMail, type MailRow } from './store.ts'

/** A mail as text and HTML. `subject` contains no line breaks. */
export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Queues a mail as part of the current transaction. A job sends it, with retries while the mail server is down. */
  send: (mail: Mail) => Promise<void>
}

export const mailContext = (to: string): string => `mail:${to}`

/** Mails go to the SMTP server of SHOAL_MAIL_URL; without one they stay in the outbox. */
export function createMailer(app: Pick<App, 'config' | 'db' | 'jobs' | 'sealer' | 'clock'>): Mailer {
  return {
    send: async ({ to, subject, text, html }) => {
      const sealedBody = app.sealer.seal(JSON.stringify({ text, html }), mailContext(to))
      await app.db.transaction(async (tx) => {
        const { id } = await addMail(tx, { to, subject, sealedBody, createdAt: app.clock.now() })
        if (app.config.SHOAL_MAIL_URL) await app.jobs.send(sendMail, { id })
      })
    },
  }
}

/** Opens the sealed body of a mail. @throws Error if the key it was sealed with is missing */
export function openMail(app: Pick<App, 'sealer'>, row: MailRow): Mail {
  const { text, html } = JSON.parse(app.sealer.open(row.sealedBody, mailContext(row.to))) as Pick<Mail, 'text' | 'html'>
  return { to: row.to, subject: row.subject, text, html }
}
