import { bigint, index, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

const time = () => timestamp({ withTimezone: true })

/** Mails waiting to be sent; in an installation without a mail server, the mails of the outbox. */
export const mails = pgTable(
  'mails',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    to: text().notNull(),
    subject: text().notNull(),
    /** `{text, html}` as sealed JSON: its links are as sensitive as a password. */
    sealedBody: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [index('mails_created').on(t.createdAt)],
)
