import type { AlertRule } from '@shoal/contract'
import { eq, getTableColumns } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { alertChosenRules } from '../tables.ts'

/** What the organization changed. */
export async function selectChosen(db: Db, orgId: number): Promise<AlertRule[]> {
  const { orgId: _, ...columns } = getTableColumns(alertChosenRules)
  return await db.select(columns).from(alertChosenRules).where(eq(alertChosenRules.orgId, orgId))
}

export async function listAllChosen(db: Db): Promise<(AlertRule & { orgId: number })[]> {
  return await db.select().from(alertChosenRules)
}

export async function putRule(db: Db, orgId: number, { kind, isEnabled, threshold }: AlertRule): Promise<void> {
  await db
    .insert(alertChosenRules)
    .values({ orgId, kind, isEnabled, threshold })
    .onConflictDoUpdate({
      target: [alertChosenRules.orgId, alertChosenRules.kind],
      set: { isEnabled, threshold },
    })
}
