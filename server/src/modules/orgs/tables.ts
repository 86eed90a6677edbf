import { orgStatuses, roleTypes } from '@shoal/contract'
import { sql } from '../../db/sql.ts'
import {
  bigId,
  boolean,
  check,
  date,
  id,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  time,
  uniqueIndex,
} from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'
import { users } from '../auth/index.ts'

export const orgs = pgTable(
  'orgs',
  {
    id: id(),
    code: text().notNull(),
    name: text(),
    email: text(),
    /** A new address that has not been confirmed by the emailed link yet. */
    pendingEmail: text(),
    pendingEmailLinkHash: text(),
    pendingEmailExpiresAt: time(),
    /** A playground always has the status DRAFT: it is never billed, but may deploy its one squid. */
    status: text({ enum: orgStatuses }).notNull().default('DRAFT'),
    isPlayground: boolean().notNull().default(false),
    squidsLimit: integer().notNull(),
    billingDetails: jsonb().$type<{
      name: string
      email: string
      country: string
      city: string
      postalCode: string
      addressLine1: string
      vatId: string | null
    }>(),
    /** The organization cannot deploy until this time, because it has reached its spend cap. Written by billing. */
    deploysStoppedUntil: time(),
    /** Limit of RPC requests per calendar month; null: unlimited. Written by billing. */
    rpcRequestsCap: bigId(),
    /** When an operator suspended the organization; null if it is not suspended. Its members see the reason. */
    suspendedAt: time(),
    suspensionReason: text(),
    createdAt: time().notNull(),
    /** When the organization was deleted. The row is deleted when all its squids are removed and the account is settled. */
    deletedAt: time(),
    /** When, after the deletion, its last invoice was paid or written off and its cards were deleted. Written by billing. */
    settledAt: time(),
  },
  (t) => [
    uniqueIndex('orgs_code').on(t.code),
    index('orgs_pending_email').on(t.pendingEmailLinkHash),
    index('orgs_deleted')
      .on(t.id)
      .where(sql`${t.deletedAt} is not null`),
    ...enumChecks('orgs', t),
  ],
)

/** Codes of deleted organizations. They stay reserved, so that no stranger receives the requests of old clients. */
export const formerCodes = pgTable(
  'former_codes',
  {
    code: text().primaryKey(),
    /** The users who administered the organization and may use its code again. */
    adminIds: jsonb().$type<number[]>().notNull(),
    until: time().notNull(),
  },
  (t) => [index('former_codes_until').on(t.until)],
)

/** Roles of members, which have a `userId`, and of open invitations, which have an `email`. */
export const roles = pgTable(
  'roles',
  {
    id: id(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    userId: bigId().references(() => users.id, { onDelete: 'cascade' }),
    email: text(),
    /** The sha256 of the secret in the link of an invitation. */
    secretHash: text(),
    type: text({ enum: roleTypes }).notNull(),
    invitedBy: bigId().references(() => users.id, { onDelete: 'set null' }),
    createdAt: time().notNull(),
  },
  (t) => [
    check('roles_member_or_invitation', sql`(user_id is null) <> (email is null)`),
    uniqueIndex('roles_org_email').on(t.orgId, t.email),
    uniqueIndex('roles_org_user').on(t.orgId, t.userId),
    index('roles_user').on(t.userId),
    index('roles_email').on(t.email),
    index('roles_invited_by').on(t.invitedBy),
    ...enumChecks('roles', t),
  ],
)

/** Usage of monthly quotas, by organization and month. */
export const quotaUsage = pgTable(
  'quota_usage',
  {
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    quota: text({ enum: ['rpc'] }).notNull(),
    /** The first day of the month, in UTC. */
    month: date({ mode: 'string' }).notNull(),
    used: bigId().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.quota, t.month] }),
    index('quota_usage_month').on(t.month),
    ...enumChecks('quota_usage', t),
  ],
)
