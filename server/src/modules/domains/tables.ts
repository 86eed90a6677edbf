import { sql } from '../../db/sql.ts'
import { bigId, boolean, index, jsonb, pgTable, primaryKey, text, time, uniqueIndex } from '../../db/columns.ts'
import { orgs } from '../orgs/index.ts'
import type { RecordChecks } from './check-dns.ts'

/** Domains of organizations. Several organizations may add the same name; it is active for the one that has proven control. */
export const squidDomains = pgTable(
  'squid_domains',
  {
    orgId: bigId()
      .notNull()
      .references(() => orgs.id, { onDelete: 'cascade' }),
    name: text().notNull(),
    squidName: text().notNull(),
    tag: text().notNull(),
    /** The value of the TXT record that proves control. Not secret: it is valid for this organization only. */
    proof: text().notNull(),
    /** Whether the gateway serves the domain for this organization. */
    isActive: boolean().notNull().default(false),
    /** Why the last check failed; null if it succeeded. */
    problem: text(),
    /** What the last check found for each record; null before the first check. */
    recordChecks: jsonb().$type<RecordChecks>(),
    /** When a check last succeeded. */
    provenAt: time(),
    checkedAt: time(),
    nextCheckAt: time().notNull(),
    createdAt: time().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.orgId, t.name] }),
    uniqueIndex('squid_domains_active')
      .on(t.name)
      .where(sql`is_active`),
    index('squid_domains_next_check').on(t.nextCheckAt),
  ],
)
