import { orgStatuses, roleTypes } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import { bigint, boolean, check, date, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { timestamp, uniqueIndex } from 'drizzle-orm/pg-core'
import { enumChecks } from '../../db/checks.ts'
import { users } from '../auth/index.ts'

const bigId = () => bigint({ mode: 'number' })
const id = () => bigId().primaryKey().generatedAlwaysAsIdentity()
const time = () => timestamp({ withTimezone: true })

export const orgs = pgTable(
  'orgs',
  {
    id: id(),
    code: text().notNull(),
    name: text(),
    email: text(),
    /** Awaits confirmation by the mailed link. */
    pendingEmail: text(),
    pendingEmailLinkHash: text(),
    pendingEmailExpiresAt: time(),
    /** A playground stays DRAFT for ever: it is never billed, and deploys its one squid all the same (contract 6.3). */
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
    /** Its spending cap is reached: no deploys until then. Written by billing. */
    deploysStoppedUntil: time(),
    /** Limit of RPC requests per calendar month; null: unlimited. Written by billing. */
    rpcRequestsCap: bigId(),
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

/** A member, with a `userId`, or an open invitation, with an `email`. Never both. */
export const roles = pgTable(
  'roles',
  {
    id: id(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    userId: bigId().references(() => users.id, { onDelete: 'cascade' }),
    email: text(),
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

/** Usage of monthly quotas; written by their counters. */
export const quotaUsage = pgTable(
  'quota_usage',
  {
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    quota: text({ enum: ['rpc'] }).notNull(),
    /** Its first day, UTC. */
    month: date({ mode: 'string' }).notNull(),
    used: bigId().notNull(),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.quota, t.month] }), ...enumChecks('quota_usage', t)],
)
