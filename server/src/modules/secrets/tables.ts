import { bigId, id, index, pgTable, primaryKey, text, time } from '../../db/columns.ts'
import { orgs } from '../orgs/index.ts'
import { users } from '../auth/index.ts'

/** Secrets of organizations. A value is sealed for its row and is decrypted only for containers and for redaction. */
export const secrets = pgTable(
  'secrets',
  {
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    /** Upper case. */
    name: text().notNull(),
    sealedValue: text().notNull(),
    updatedAt: time().notNull(),
    updatedBy: bigId().references(() => users.id, { onDelete: 'set null' }),
  },
  (t) => [primaryKey({ columns: [t.orgId, t.name] }), index('secrets_updated_by').on(t.updatedBy)],
)

/**
 * Replaced or deleted values. Programs that were started earlier still have these values, so they must be redacted in logs. Sealed like
 * secrets.
 */
export const retiredSecrets = pgTable(
  'retired_secrets',
  {
    id: id(),
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    sealedValue: text().notNull(),
  },
  (t) => [index('retired_secrets_org').on(t.orgId, t.name)],
)
