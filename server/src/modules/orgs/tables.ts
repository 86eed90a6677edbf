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
    /** A new address that awaits confirmation by the emailed link. */
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
    /** No deploys until this time, because the spending cap is reached. Written by billing. */
    deploysStoppedUntil: time(),
    /** Limit of RPC requests per calendar month; null: unlimited. Written by billing. */
    rpcRequestsCap: bigId(),
    /** Set while an operator has suspended the organization. Its members see the reason. */
    suspendedAt: time(),
    suspensionReason: text(),
    createdAt: time().notNull(),
    /** Set while its squids are being removed; the row is deleted when the last one is removed and the account is settled. */
    deletedAt: time(),
    /** Set after deletion, when its last invoice is paid or written off and its cards are deleted. Written by billing. */
    settledAt: time(),
  },
  (t) => [
    uniqueIndex('orgs_code').on(t.code),
    index('orgs_pending_email').on(t.pendingEmailLinkHash),
    ...enumChecks('orgs', t),
  ],
)

/** A member, with a `userId`, or an open invitation, with an `email`; never both. */
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

/** Usage of monthly quotas. */
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
  (t) => [primaryKey({ columns: [t.orgId, t.quota, t.month] }), ...enumChecks('quota_usage', t)],
)
