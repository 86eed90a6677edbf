import { boolean, integer, pgTable, text, time } from '../../db/columns.ts'
import { oneRowCheck } from '../../db/checks.ts'

/** The announced maintenance, in one row; all users see it until it ends. */
export const maintenances = pgTable(
  'maintenances',
  {
    id: integer().primaryKey().default(1),
    message: text().notNull(),
    startsAt: time().notNull(),
    endsAt: time().notNull(),
    hasScreen: boolean().notNull().default(false),
    announcedAt: time().notNull(),
  },
  (t) => [oneRowCheck('maintenances', t.id)],
)
