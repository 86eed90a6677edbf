import { tokenScopes } from '@shoal/contract'
import { sql } from '../../db/sql.ts'
import {
  bigId,
  boolean,
  id,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  time,
  uniqueIndex,
  uuid,
} from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'

const userId = () =>
  bigId()
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
    /** Set while the password is one that `shoal user` generated: it is then valid until this time. */
    generatedPasswordUntil: time(),
    /** The hash of this generated password. The previous release changes only `passwordHash`; a password with another hash does not expire. */
    generatedPasswordHash: text(),
    emailVerified: boolean().notNull().default(false),
    /**
     * When the user proved access to the mailbox: by opening an emailed link in a session of the account, by a recovery, or through a
     * provider. Also set when the operator creates the account. Null if an earlier version confirmed the email when anyone opened the link.
     */
    emailProvenAt: time(),
    avatarUrl: text(),
    /** May open the operator's console. Set by the command line only. */
    isOperator: boolean().notNull().default(false),
    /** Set while an operator has disabled the account: it cannot sign in, and its sessions and API tokens are rejected. */
    disabledAt: time(),
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

/** A sign-in of one browser. The JWT contains the session id; deleting the row ends the session. */
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
    /** When the user last entered the password in this session; null if they signed in without one. */
    passwordAt: time(),
    /** The organization that an operator may read in this session until `supportUntil`. No foreign key, because organizations refer to users. */
    supportOrgId: bigId(),
    supportUntil: time(),
  },
  (t) => [index('sessions_user').on(t.userId), index('sessions_expires').on(t.expiresAt)],
)

export const apiTokens = pgTable(
  'api_tokens',
  {
    id: id(),
    userId: userId(),
    name: text().notNull(),
    /** The first characters of the key, shown in lists. */
    prefix: text().notNull(),
    /** sha256 of the key: 256 random bits need no slow hash. */
    hash: text().notNull(),
    scope: text({ enum: tokenScopes }).notNull(),
    /**
     * The only organization that the token may access; null: all organizations of its user. No foreign key, because organizations refer to
     * users; deleting an organization deletes its tokens, and ids are never reused.
     */
    orgId: bigId(),
    createdAt: time().notNull(),
    expiresAt: time(),
    lastUsedAt: time(),
  },
  (t) => [
    uniqueIndex('api_tokens_hash').on(t.hash),
    uniqueIndex('api_tokens_user_name').on(t.userId, t.name),
    index('api_tokens_org').on(t.orgId),
    ...enumChecks('api_tokens', t),
  ],
)

/** An account at a provider with which a user can sign in. */
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

/** Links sent by email to confirm an address or set a new password. Only the hash of the secret is stored. */
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

/** IP addresses from which a confirmed account has signed in. Failed attempts from other addresses cannot lock the owner out there. */
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

/** Sealed keys that sign sessions and challenges, shared by all API processes. */
export const signingKeys = pgTable('signing_keys', {
  purpose: text().primaryKey(),
  sealedKey: text().notNull(),
})
