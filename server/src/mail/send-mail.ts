import { createTransport } from 'nodemailer'
import type { App } from '../app.ts'
import { days } from '../clock.ts'
import type { Job } from '../jobs/jobs.ts'
import { openMail, type Mail } from './mailer.ts'
import { deleteMail, deleteMailsBefore, findMail } from './store.ts'

export const sendMailQueue = { name: 'mail.send', retryLimit: 10 }

const smtpTimeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }

/** Emails that cannot be sent, and emails in the outbox, are deleted after this time. */
const retentionMs = days(7)

export function mailJobs(app: App): Job<never>[] {
  const sendMailJob: Job<{ id: number }> = { ...sendMailQueue, run: ({ id }) => sendQueuedMail(app, id) }
  const deleteOldMails: Job<object> = {
    name: 'mail.dropOld',
    schedule: '17 3 * * *',
    run: () => deleteMailsBefore(app.db, new Date(app.clock.now().getTime() - retentionMs)),
  }
  return [sendMailJob, deleteOldMails]
}

/** Sends a queued email and deletes it. @throws Error if the mail server rejects it, which makes the job retry */
async function sendQueuedMail(app: App, id: number): Promise<void> {
  const row = await findMail(app.db, id)
  if (!row) return
  // All attempts use the same id, so that an email sent just before a crash is recognized as a duplicate.
  await transmit(app, openMail(app, row), `${row.id}-${row.createdAt.getTime()}`)
  await deleteMail(app.db, id)
}

/**
 * Sends an email without the queue, for callers that report the result and retry themselves. `id` must be the same for all attempts.
 * Without a mail server, the email is added to the outbox.
 * @throws the mail server's error, within half a minute
 */
export async function sendMailNow(app: App, mail: Mail, id: string): Promise<void> {
  if (app.config.SHOAL_MAIL_URL) await transmit(app, mail, id)
  else await app.mailer.send(mail)
}

/** Signs in to the mail server without sending an email. @throws the mail server's error, within half a minute */
export async function verifyMailServer({ SHOAL_MAIL_URL: url }: App['config']): Promise<void> {
  const transport = createTransport({ url, ...smtpTimeouts })
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

async function transmit({ config }: App, mail: Mail, id: string): Promise<void> {
  const transport = createTransport({ url: config.SHOAL_MAIL_URL, ...smtpTimeouts })
  try {
    const messageId = `<shoal-${id}@${new URL(config.publicUrl).hostname}>`
    // Prevents automatic replies, such as out-of-office messages.
    const headers = { 'auto-submitted': 'auto-generated' }
    await transport.sendMail({ from: config.SHOAL_MAIL_FROM, ...mail, messageId, headers })
  } finally {
    transport.close()
  }
}
