import type { App } from '../app.ts'
import { sendMailQueue } from './send-mail.ts'
import { addMail, type MailRow } from './store.ts'

/** An email as text and HTML. `subject` contains no line breaks. */
export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Queues an email as part of the current transaction. A job sends it, with retries while the mail server is down. */
  send: (mail: Mail) => Promise<void>
}

/** The context with which the body of an email to this address is sealed. */
export const mailContext = (to: string): string => `mail:${to}`

/** Creates a mailer that sends emails to the SMTP server of SHOAL_MAIL_URL. Without a mail server, emails stay in the outbox. */
export function createMailer(app: Pick<App, 'config' | 'db' | 'jobs' | 'sealer' | 'clock'>): Mailer {
  return {
    send: async ({ to, subject, text, html }) => {
      const sealedBody = app.sealer.seal(JSON.stringify({ text, html }), mailContext(to))
      await app.db.transaction(async (tx) => {
        const { id } = await addMail(tx, { to, subject, sealedBody, createdAt: app.clock.now() })
        if (app.config.SHOAL_MAIL_URL) await app.jobs.send(sendMailQueue, { id })
      })
    },
  }
}

/** Opens the sealed body of an email. @throws Error if the key it was sealed with is missing */
export function openMail(app: Pick<App, 'sealer'>, row: MailRow): Mail {
  const { text, html } = JSON.parse(app.sealer.open(row.sealedBody, mailContext(row.to))) as Pick<Mail, 'text' | 'html'>
  return { to: row.to, subject: row.subject, text, html }
}
