export { escapeHtml, writeLetter } from './letter.ts'
export { createMailer, openMail } from './mailer.ts'
export { mailJobs } from './send-mail.ts'
export { newestMails } from './store.ts'
