/** A mail with both parts; `subject` without line breaks. */
export type Mail = { to: string; subject: string; text: string; html: string }

export type Mailer = {
  /** Queues it; sending is retried by a job. Never throws for a mail server that is down. */
  send: (mail: Mail) => Promise<void>
}
