import { id, index, pgTable, text, time } from '../db/columns.ts'

/** Emails that are waiting to be sent; in an installation without a mail server, the emails of the outbox. */
export const mails = pgTable(
  'mails',
  {
    id: id(),
    to: text().notNull(),
    subject: text().notNull(),
    /** `{text, html}` as sealed JSON: its links are as sensitive as a password. */
    sealedBody: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [index('mails_created').on(t.createdAt)],
)
