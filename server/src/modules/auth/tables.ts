import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { enumChecks } from '../../db/checks.ts'

const id = () => bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity()
const time = () => timestamp({ withTimezone: true })
const userId = () =>
  bigint({ mode: 'number' })
    .notNull()
    .references(() => users.id, { onDelete: 'cascade' })

/**
 * An account. An email belongs to one confirmed account at most; several unconfirmed ones may claim it, so that a sign-up does not
 * reveal accounts and cannot reserve another user's address (docs/decisions/0006-no-account-enumeration.md).
 */
export const users = pgTable(
  'users',
  {
    id: id(),
    /** Lower case. */
    email: text().notNull(),
    fullName: text().notNull(),
    /** Argon2id; null for users who only sign in with a provider. */
    passwordHash: text(),
    emailVerified: boolean().notNull().default(false),
    avatarUrl: text(),
    policyAccepted: boolean().notNull().default(false),
    subscribesNewsletter: boolean().notNull().default(false),
    onboardingForm: jsonb().$type<{ occupation: string; source: string; usage: string }>(),
    createdAt: time().notNull(),
  },
  (t) => [
    uniqueIndex('users_verified_email')
      .on(t.email)
      .where(sql`email_verified`),
    index('users_email').on(t.email, t.id),
  ],
)

/** A sign-in of one browser; the JWT has its id, and deleting the row ends it. */
export const sessions = pgTable(
  'sessions',
  {
    id: uuid().primaryKey(),
    userId: userId(),
    createdAt: time().notNull(),
    lastSeenAt: time().notNull(),
    expiresAt: time().notNull(),
    userAgent: text(),
    ip: text(),
  },
  (t) => [index('sessions_user').on(t.userId)],
)

export const apiTokens = pgTable(
  'api_tokens',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    /** First characters, for recognition in lists. */
    prefix: text().notNull(),
    /** sha256 of the key: 256 random bits need no slow hash. */
    hash: text().notNull(),
    createdAt: time().notNull(),
    expiresAt: time(),
    lastUsedAt: time(),
  },
  (t) => [uniqueIndex('api_tokens_hash').on(t.hash), uniqueIndex('api_tokens_user_name').on(t.userId, t.name)],
)

/** An account at a provider that may sign in here. */
export const oauthIdentities = pgTable(
  'oauth_identities',
  {
    provider: text().notNull(),
    /** The provider's permanent id of the account. */
    subject: text().notNull(),
    userId: userId(),
    createdAt: time().notNull(),
  },
  (t) => [primaryKey({ columns: [t.provider, t.subject] }), index('oauth_identities_user').on(t.userId)],
)

/** Links in mails: to confirm an email, to set a new password. Stored as the hash of their secret. */
export const emailLinks = pgTable(
  'email_links',
  {
    hash: text().primaryKey(),
    purpose: text({ enum: ['confirm', 'restore'] }).notNull(),
    userId: userId(),
    createdAt: time().notNull(),
    expiresAt: time().notNull(),
  },
  (t) => [index('email_links_user').on(t.userId), ...enumChecks('email_links', t)],
)

/** Addresses a confirmed account has signed in from: failed attempts of others cannot lock it out there. */
export const knownAddresses = pgTable(
  'known_addresses',
  { userId: userId(), ip: text().notNull(), seenAt: time().notNull() },
  (t) => [primaryKey({ columns: [t.userId, t.ip] })],
)

/** Calls or attempts counted in a time window, across all API processes. */
export const rateCounters = pgTable(
  'rate_counters',
  { key: text().primaryKey(), count: integer().notNull(), endsAt: time().notNull() },
  (t) => [index('rate_counters_ends').on(t.endsAt)],
)

/** Keys that sign sessions and challenges, shared by all API processes. Sealed. */
export const signingKeys = pgTable('signing_keys', {
  purpose: text().primaryKey(),
  sealedKey: text().notNull(),
})

/** Every change with user, action, time and address. A trigger prevents changes, and deletions other than by retention. */
export const auditLog = pgTable(
  'audit_log',
  {
    id: id(),
    at: time().notNull(),
    /** The endpoint's name: `orgs.inviteMember`. */
    action: text().notNull(),
    /** No foreign keys: the log outlives its subjects. */
    userId: bigint({ mode: 'number' }),
    sessionId: uuid(),
    apiTokenId: bigint({ mode: 'number' }),
    orgId: bigint({ mode: 'number' }),
    ip: text(),
    requestId: text(),
    subject: text(),
    params: jsonb(),
    before: jsonb(),
    after: jsonb(),
  },
  (t) => [
    index('audit_log_org').on(t.orgId, t.id),
    index('audit_log_user').on(t.userId, t.id),
    index('audit_log_at').on(t.at),
  ],
)
