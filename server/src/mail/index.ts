export { escapeHtml, renderMail } from './mail-template.ts'
export { createMailer, mailContext, openMail } from './mailer.ts'
export { mailJobs, sendMail, sendMailNow } from './send-mail.ts'
export { newestMails } from './store.ts'
