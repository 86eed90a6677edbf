import { sql } from 'drizzle-orm'
import { bigint, boolean, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core'

const id = () => bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity()
const time = () => timestamp({ withTimezone: true })

export const users = pgTable(
  'users',
  {
    id: id(),
    /** Lower case. */
    email: text().notNull(),
    fullName: text().notNull(),
    /** Argon2id; null for those who only sign in with a provider. */
    passwordHash: text(),
    emailVerified: boolean().notNull().default(false),
    avatarUrl: text(),
    policyAccepted: boolean().notNull().default(false),
    subscribesNewsletter: boolean().notNull().default(false),
    onboardingForm: jsonb().$type<{ occupation: string; source: string; usage: string }>(),
    createdAt: time()
      .notNull()
      .default(sql`now()`),
  },
  (t) => [uniqueIndex('users_email').on(t.email)],
)

export const apiTokens = pgTable(
  'api_tokens',
  {
    id: id(),
    userId: bigint({ mode: 'number' })
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    /** First characters, to recognise it by. */
    prefix: text().notNull(),
    /** sha256 of the key: 256 random bits need no slow hash. */
    hash: text().notNull(),
    createdAt: time().notNull(),
    expiresAt: time(),
    lastUsedAt: time(),
  },
  (t) => [uniqueIndex('api_tokens_hash').on(t.hash), uniqueIndex('api_tokens_user_name').on(t.userId, t.name)],
)
