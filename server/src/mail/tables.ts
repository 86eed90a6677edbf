import { bigint, index, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

const time = () => timestamp({ withTimezone: true })

/** Mails that wait to be sent, and in an installation without a mail server those to be read in the outbox. */
export const mails = pgTable(
  'mails',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    to: text().notNull(),
    subject: text().notNull(),
    /** `{text, html}` as JSON, sealed: the links in it are as good as a password. */
    sealedBody: text().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [index('mails_created').on(t.createdAt)],
)
