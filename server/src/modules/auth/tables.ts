import { bigint, index, pgTable, text, timestamp, uuid } from 'drizzle-orm/pg-core'
import { users } from '../user/index.ts'

const time = () => timestamp({ withTimezone: true })

/** One sign-in of one browser; the JWT carries its id, and deleting the row ends it. */
export const sessions = pgTable(
  'sessions',
  {
    id: uuid().primaryKey(),
    userId: bigint({ mode: 'number' })
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: time().notNull(),
    lastSeenAt: time().notNull(),
    expiresAt: time().notNull(),
    userAgent: text(),
    ip: text(),
  },
  (t) => [index('sessions_user').on(t.userId)],
)
