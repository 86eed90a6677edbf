import type { OrgStatus, RoleType } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core'
import { users } from '../user/index.ts'

const id = () => bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity()
const time = () => timestamp({ withTimezone: true })

export const orgs = pgTable(
  'orgs',
  {
    id: id(),
    code: text().notNull(),
    name: text(),
    email: text(),
    pendingEmail: text(),
    status: text().$type<OrgStatus>().notNull().default('DRAFT'),
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
    createdAt: time()
      .notNull()
      .default(sql`now()`),
    /** Set while its squids are being removed; the row goes when the last one has gone. */
    deletedAt: time(),
  },
  (t) => [uniqueIndex('orgs_code').on(t.code)],
)

/** A member, or an invitation while `userId` is null or `acceptedAt` is. */
export const roles = pgTable(
  'roles',
  {
    id: id(),
    orgId: bigint({ mode: 'number' })
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    userId: bigint({ mode: 'number' }).references(() => users.id, { onDelete: 'cascade' }),
    email: text().notNull(),
    type: text().$type<RoleType>().notNull(),
    invitedBy: bigint({ mode: 'number' }).references(() => users.id, { onDelete: 'set null' }),
    createdAt: time()
      .notNull()
      .default(sql`now()`),
    acceptedAt: time(),
  },
  (t) => [
    uniqueIndex('roles_org_email').on(t.orgId, t.email),
    index('roles_user').on(t.userId),
    index('roles_email').on(t.email),
  ],
)
