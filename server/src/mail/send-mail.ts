import { createTransport } from 'nodemailer'
import type { App } from '../app.ts'
import { days } from '../clock.ts'
import type { Job } from '../jobs/jobs.ts'
import { openMail } from './mailer.ts'
import { deleteMail, deleteMailsBefore, findMail } from './store.ts'

export const sendMail = { name: 'mail.send' }

/** What cannot be sent, and what nobody read in the outbox, is dropped after this. */
const keptMs = days(7)

export function mailJobs(app: App): Job<never>[] {
  const sending: Job<{ id: number }> = { ...sendMail, retryLimit: 10, run: ({ id }) => send(app, id) }
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
  const transport = createTransport(app.config.SHOAL_MAIL_URL)
  try {
    // The same Message-ID for every try: a mail that was taken just before we died is recognised as the same one.
    const messageId = `<shoal-${row.id}-${row.createdAt.getTime()}@${new URL(app.config.publicUrl).hostname}>`
    await transport.sendMail({ from: app.config.SHOAL_MAIL_FROM, ...openMail(app, row), messageId })
  } finally {
    transport.close()
  }
  await deleteMail(app.db, id)
}
