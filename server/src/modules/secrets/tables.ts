import { bigint, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'
import { orgs } from '../orgs/index.ts'
import { users } from '../user/index.ts'

/** A secret of an organization. Its value is sealed for its row and only leaves it for containers. */
export const secrets = pgTable(
  'secrets',
  {
    orgId: bigint({ mode: 'number' })
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** Upper case. */
    name: text().notNull(),
    sealedValue: text().notNull(),
    updatedAt: timestamp({ withTimezone: true }).notNull(),
    updatedBy: bigint({ mode: 'number' }).references(() => users.id, { onDelete: 'set null' }),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.name] }), index('secrets_updated_by').on(t.updatedBy)],
)

/**
 * Replaced or deleted values: programs started before still have them, so logs must redact them. Sealed like secrets.
 */
export const retiredSecrets = pgTable(
  'retired_secrets',
  {
    id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    orgId: bigint({ mode: 'number' })
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    sealedValue: text().notNull(),
  },
  (t) => [index('retired_secrets_org').on(t.orgId, t.name)],
)
