import type { AlertRule } from '@shoal/contract'
import { eq, getTableColumns } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { alertRules } from '../tables.ts'

/** Returns the rules that the organization has changed. */
export async function listChangedRules(db: Db, orgId: number): Promise<AlertRule[]> {
  const { orgId: _, ...columns } = getTableColumns(alertRules)
  return await db.select(columns).from(alertRules).where(eq(alertRules.orgId, orgId))
}

/** Returns the changed rules of all organizations. */
export async function listAllChangedRules(db: Db): Promise<(AlertRule & { orgId: number })[]> {
  return await db.select().from(alertRules)
}

/** Adds or replaces the settings of a rule of the organization. */
export async function saveRule(db: Db, orgId: number, { kind, isEnabled, threshold }: AlertRule): Promise<void> {
  await db
    .insert(alertRules)
    .values({ orgId, kind, isEnabled, threshold })
    .onConflictDoUpdate({
      target: [alertRules.orgId, alertRules.kind],
      set: { isEnabled, threshold },
    })
}
