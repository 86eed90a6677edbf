import { createTransport } from 'nodemailer'
import type { App } from '../app.ts'
import { days } from '../clock.ts'
import type { Job } from '../jobs/jobs.ts'
import { openMail, type Mail } from './mailer.ts'
import { deleteMail, deleteMailsBefore, findMail } from './store.ts'

export const sendMail = { name: 'mail.send', retryLimit: 10 }

const smtpTimeouts = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 }

/** What cannot be sent, and what nobody read in the outbox, is dropped after this. */
const keptMs = days(7)

export function mailJobs(app: App): Job<never>[] {
  const sending: Job<{ id: number }> = { ...sendMail, run: ({ id }) => send(app, id) }
  const dropOld: Job<object> = {
    name: 'mail.dropOld',
    schedule: '17 3 * * *',
    run: () => deleteMailsBefore(app.db, new Date(app.clock.now().getTime() - keptMs)),
  }
  return [sending, dropOld]
}

/** Throws when the mail server does not take it: the job is tried again later. */
async function send(app: App, id: number): Promise<void> {
  const row = await findMail(app.db, id)
  if (!row) return
  // The same id for every try: a mail that was taken just before we died is recognised as the same one.
  await transmit(app, openMail(app, row), `${row.id}-${row.createdAt.getTime()}`)
  await deleteMail(app.db, id)
}

/**
 * For who tells what became of a mail and tries again on his own; `id` is the same for every try. Without a mail server it goes to
 * the outbox. @throws Error of the mail server, within half a minute
 */
export async function sendMailNow(app: App, mail: Mail, id: string): Promise<void> {
  if (app.config.SHOAL_MAIL_URL) await transmit(app, mail, id)
  else await app.mailer.send(mail)
}

async function transmit({ config }: App, mail: Mail, id: string): Promise<void> {
  const transport = createTransport({ url: config.SHOAL_MAIL_URL, ...smtpTimeouts })
  try {
    const messageId = `<shoal-${id}@${new URL(config.publicUrl).hostname}>`
    // No answering machine answers.
    const headers = { 'auto-submitted': 'auto-generated' }
    await transport.sendMail({ from: config.SHOAL_MAIL_FROM, ...mail, messageId, headers })
  } finally {
    transport.close()
  }
}
