import { and, asc, count, desc, eq, gte, inArray, isNull, or, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { statusIncidents, statusUpdates } from './tables.ts'

export type IncidentRow = typeof statusIncidents.$inferSelect
export type UpdateRow = typeof statusUpdates.$inferSelect
/** `updates`: newest first. */
export type IncidentWithUpdates = IncidentRow & { updates: UpdateRow[] }

const maxListed = 100

const isIncidentOf = (orgId: number) => and(eq(statusIncidents.orgId, orgId), isNull(statusIncidents.removedAt))

/** Lists at most 100 incidents: open ones first, then the newest first. `resolvedSince` omits those that were resolved earlier. */
export async function listIncidents(db: Db, orgId: number, resolvedSince?: Date): Promise<IncidentWithUpdates[]> {
  const isRecent =
    resolvedSince && or(isNull(statusIncidents.resolvedAt), gte(statusIncidents.resolvedAt, resolvedSince))
  const rows = await db
    .select()
    .from(statusIncidents)
    .where(and(isIncidentOf(orgId), isRecent))
    .orderBy(sql`${statusIncidents.resolvedAt} is not null`, desc(statusIncidents.startedAt))
    .limit(maxListed)
  return await withUpdates(db, rows)
}

async function withUpdates(db: Db, rows: IncidentRow[]): Promise<IncidentWithUpdates[]> {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const updates = await db
    .select()
    .from(statusUpdates)
    .where(inArray(statusUpdates.incidentId, ids))
    .orderBy(asc(statusUpdates.incidentId), desc(statusUpdates.id))
  const byIncident = Map.groupBy(updates, ({ incidentId }) => incidentId)
  return rows.map((row) => ({ ...row, updates: byIncident.get(row.id) ?? [] }))
}

/** Returns an incident and locks it until the transaction ends; null if the organization has no such incident. */
export async function lockIncident(tx: Db, orgId: number, id: string): Promise<IncidentWithUpdates | null> {
  const rows = await tx
    .select()
    .from(statusIncidents)
    .where(and(isIncidentOf(orgId), eq(statusIncidents.id, id)))
    .for('update')
  return (await withUpdates(tx, rows))[0] ?? null
}

/** Returns the number of incidents, without those that members removed. */
export async function countIncidents(db: Db, orgId: number): Promise<number> {
  const [row] = await db.select({ incidents: count() }).from(statusIncidents).where(isIncidentOf(orgId))
  return row?.incidents ?? 0
}

export async function insertIncident(db: Db, incident: typeof statusIncidents.$inferInsert): Promise<IncidentRow> {
  const [row] = await db.insert(statusIncidents).values(incident).returning()
  if (!row) throw new Error('The incident was not inserted')
  return row
}

export async function changeIncident(
  db: Db,
  id: string,
  change: Partial<Pick<IncidentRow, 'title' | 'impact' | 'tags' | 'resolvedAt' | 'editedAt' | 'followsAlert'>>,
): Promise<void> {
  await db.update(statusIncidents).set(change).where(eq(statusIncidents.id, id))
}

/** Resolves an incident. Returns false if it was resolved already. */
export async function resolveIncident(db: Db, id: string, at: Date): Promise<boolean> {
  const rows = await db
    .update(statusIncidents)
    .set({ resolvedAt: at })
    .where(and(eq(statusIncidents.id, id), isNull(statusIncidents.resolvedAt)))
    .returning({ id: statusIncidents.id })
  return rows.length > 0
}

/**
 * Removes an incident from the page. The row of an incident that an alert opened is kept, so that the alert opens no second one.
 */
export async function removeIncident(db: Db, { id, alertId }: IncidentRow, at: Date): Promise<void> {
  if (alertId === null) await db.delete(statusIncidents).where(eq(statusIncidents.id, id))
  else await db.update(statusIncidents).set({ removedAt: at, resolvedAt: at }).where(eq(statusIncidents.id, id))
}

export async function insertUpdate(db: Db, update: typeof statusUpdates.$inferInsert): Promise<void> {
  await db.insert(statusUpdates).values(update)
}

/** Changes the text of an update. Returns false if the incident has no such update. */
export async function changeUpdateText(db: Db, incidentId: string, id: number, text: string): Promise<boolean> {
  const rows = await db
    .update(statusUpdates)
    .set({ text })
    .where(and(eq(statusUpdates.id, id), eq(statusUpdates.incidentId, incidentId)))
    .returning({ id: statusUpdates.id })
  return rows.length > 0
}

/** Deletes incidents that were resolved before `at`. Returns the number of deleted rows. */
export async function deleteIncidentsResolvedBefore(db: Db, at: Date): Promise<number> {
  return await deleteInBatches(db, statusIncidents, sql`resolved_at < ${at.toISOString()}`)
}
