// Writes tables of other modules: orgs. The row of an organization is deleted after its last version, under the same conditions.
// Reads tables of other modules: squids. Locks, checks and changes must be one statement.

import type { DeploymentStatus } from '@shoal/contract'
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { orgs } from '../orgs/index.ts'
import { users } from '../user/index.ts'
import { deployments, deploymentSteps, type DeploymentNotes } from './tables.ts'

export type DeploymentRow = typeof deployments.$inferSelect
export type NewDeployment = typeof deployments.$inferInsert

/** Notified when a deployment waits for a worker. */
export const deploymentsChannel = 'shoal_deployments'

/** Another worker has claimed the deployment; the one that catches this must stop. */
export class SupersededError extends Error {
  override name = 'Superseded'
}

export async function selectOrg(db: Db, orgId: number) {
  const [org] = await db.select().from(orgs).where(eq(orgs.id, orgId))
  return org ?? null
}

export async function insertDeployment(db: Db, deployment: NewDeployment): Promise<DeploymentRow> {
  const [row] = await db.insert(deployments).values(deployment).returning()
  if (!row) throw new Error('The deployment was not inserted')
  await db.execute(sql`select pg_notify(${deploymentsChannel}, ${String(row.id)})`)
  return row
}

/** The deployment an earlier, identical request started: the one that runs, or one that ended after `endedAfter`. */
export async function selectDuplicate(
  db: Db,
  requestKey: string,
  endedAfter: Date | null,
): Promise<DeploymentRow | null> {
  const [row] = await db
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.requestKey, requestKey),
        endedAfter
          ? sql`(${deployments.finishedAt} is null or (${deployments.finishedAt} > ${endedAfter} and ${deployments.failed} = 'NO'))`
          : isNull(deployments.finishedAt),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(1)
  return row ?? null
}

export async function selectByRequest(db: Db, requestKey: string): Promise<DeploymentRow | null> {
  const [row] = await db.select().from(deployments).where(eq(deployments.requestKey, requestKey)).limit(1)
  return row ?? null
}

/** The deletion of a version that no longer exists, if this user requested it and it ended after `endedAfter`. */
export async function selectRecentDelete(
  db: Db,
  who: { orgId: number; userId: number; name: string; slot: string },
  endedAfter: Date,
): Promise<DeploymentRow | null> {
  const [row] = await db
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.orgId, who.orgId),
        eq(deployments.userId, who.userId),
        eq(deployments.squidName, who.name),
        eq(deployments.squidSlot, who.slot),
        eq(deployments.type, 'DELETE'),
        eq(deployments.failed, 'NO'),
        gt(deployments.finishedAt, endedAfter),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(1)
  return row ?? null
}

export async function selectUnfinishedOf(db: Db, squidId: number): Promise<DeploymentRow | null> {
  const [row] = await db
    .select()
    .from(deployments)
    .where(and(eq(deployments.squidId, squidId), isNull(deployments.finishedAt)))
  return row ?? null
}

/** Versions with a deployment in progress. */
export async function squidsInProgress(db: Db): Promise<Set<number>> {
  const rows = await db.select({ squidId: deployments.squidId }).from(deployments).where(isNull(deployments.finishedAt))
  return new Set(rows.map((row) => row.squidId))
}

/** Versions whose first deployment failed and whose row still exists. */
export async function listNeverDeployed(db: Db): Promise<{ id: number; orgId: number }[]> {
  const { rows } = await db.execute<{ id: number; orgId: number }>(
    sql`select s.id, s.org_id as "orgId" from squids s where s.image is null
      and exists (select 1 from deployments d where d.squid_id = s.id and d.failed <> 'NO')
      and not exists (select 1 from deployments d where d.squid_id = s.id and d.finished_at is null)`,
  )
  return rows
}

/** Oldest first. */
export function listUnfinished(db: Db): Promise<{ id: number; squidId: number }[]> {
  return db
    .select({ id: deployments.id, squidId: deployments.squidId })
    .from(deployments)
    .where(isNull(deployments.finishedAt))
    .orderBy(asc(deployments.id))
    .limit(500)
}

/** Claims the deployment: writes of an earlier worker are refused from now on. Null when it has ended. */
export async function claim(db: Db, id: number): Promise<DeploymentRow | null> {
  const [row] = await db
    .update(deployments)
    .set({ attempt: sql`${deployments.attempt} + 1` })
    .where(and(eq(deployments.id, id), isNull(deployments.finishedAt)))
    .returning()
  return row ?? null
}

type ClaimedDeployment = Pick<DeploymentRow, 'id' | 'attempt'>

/** @throws SupersededError */
export async function updateClaimed(
  db: Db,
  claimed: ClaimedDeployment,
  change: Partial<NewDeployment>,
): Promise<DeploymentRow> {
  const [row] = await db
    .update(deployments)
    .set(change)
    .where(
      and(eq(deployments.id, claimed.id), eq(deployments.attempt, claimed.attempt), isNull(deployments.finishedAt)),
    )
    .returning()
  if (!row) throw new SupersededError(`Deployment ${claimed.id} was claimed by another worker`)
  return row
}

/**
 * Locks the claimed deployment until the transaction ends: a worker that claims it waits, for a minute at most when this worker
 * disappears. @throws SupersededError
 */
export async function lockClaimed(tx: Db, claimed: ClaimedDeployment): Promise<void> {
  await tx.execute(sql`set local idle_in_transaction_session_timeout = '60s'`)
  const [row] = await tx
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(eq(deployments.id, claimed.id), eq(deployments.attempt, claimed.attempt), isNull(deployments.finishedAt)),
    )
    .for('no key update')
  if (!row) throw new SupersededError(`Deployment ${claimed.id} was claimed by another worker`)
}

/** Merges into the notes. @throws SupersededError */
export function addNotes(db: Db, claimed: ClaimedDeployment, notes: DeploymentNotes, at: Date): Promise<DeploymentRow> {
  return updateClaimed(db, claimed, {
    notes: sql`${deployments.notes} || ${JSON.stringify(notes)}::jsonb` as unknown as DeploymentNotes,
    updatedAt: at,
  })
}

/** Within a transaction that holds the deployment. */
export async function beginStep(
  tx: Db,
  step: { deploymentId: number; seq: number; status: DeploymentStatus; startedAt: Date },
): Promise<void> {
  await tx.insert(deploymentSteps).values(step).onConflictDoNothing()
}

/** Within a transaction that holds the deployment. */
export async function endStep(tx: Db, deploymentId: number, seq: number, finishedAt: Date): Promise<void> {
  await tx
    .update(deploymentSteps)
    .set({ finishedAt })
    .where(and(eq(deploymentSteps.deploymentId, deploymentId), eq(deploymentSteps.seq, seq)))
}

/** Numbers of the finished steps. */
export async function stepsDone(db: Db, deploymentId: number): Promise<Set<number>> {
  const rows = await db
    .select({ seq: deploymentSteps.seq })
    .from(deploymentSteps)
    .where(and(eq(deploymentSteps.deploymentId, deploymentId), isNotNull(deploymentSteps.finishedAt)))
  return new Set(rows.map((row) => row.seq))
}

export type DeploymentWithUser = {
  deployment: DeploymentRow
  user: { id: number; email: string; fullName: string } | null
}

const withUser = { deployment: deployments, user: { id: users.id, email: users.email, fullName: users.fullName } }

export async function selectDeployment(db: Db, orgId: number, id: number): Promise<DeploymentWithUser | null> {
  const [row] = await db
    .select(withUser)
    .from(deployments)
    .leftJoin(users, eq(users.id, deployments.userId))
    .where(and(eq(deployments.orgId, orgId), eq(deployments.id, id)))
  return row ?? null
}

export type ListFilter = { squidId?: number; isInProgress: boolean; beforeId?: number; limit: number }

/** Newest first. */
export function listDeployments(db: Db, orgId: number, filter: ListFilter): Promise<DeploymentWithUser[]> {
  return db
    .select(withUser)
    .from(deployments)
    .leftJoin(users, eq(users.id, deployments.userId))
    .where(
      and(
        eq(deployments.orgId, orgId),
        filter.squidId === undefined ? undefined : eq(deployments.squidId, filter.squidId),
        filter.isInProgress ? isNull(deployments.finishedAt) : undefined,
        filter.beforeId === undefined ? undefined : lt(deployments.id, filter.beforeId),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(filter.limit)
}

export type StepRow = typeof deploymentSteps.$inferSelect

export function listSteps(db: Db, deploymentIds: number[]): Promise<StepRow[]> {
  return db
    .select()
    .from(deploymentSteps)
    .where(inArray(deploymentSteps.deploymentId, deploymentIds))
    .orderBy(asc(deploymentSteps.deploymentId), asc(deploymentSteps.seq))
}

export async function hasUnfinished(db: Db, orgId: number): Promise<boolean> {
  const rows = await db
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.orgId, orgId), isNull(deployments.finishedAt)))
    .limit(1)
  return rows.length > 0
}

/** Organizations that were deleted but still have a row, and the number of their remaining versions. */
export async function listDeletedOrgs(db: Db): Promise<{ id: number; squids: number }[]> {
  const { rows } = await db.execute<{ id: number; squids: number }>(
    sql`select o.id, (select count(*) from squids s where s.org_id = o.id) as squids
      from orgs o where o.deleted_at is not null`,
  )
  return rows
}

/** Versions of the organization without a deployment in progress, nor with a deletion that failed after `since`. */
export async function listDeletable(db: Db, orgId: number, since: Date): Promise<number[]> {
  const { rows } = await db.execute<{ id: number }>(
    sql`select s.id from squids s where s.org_id = ${orgId} and not exists (
      select 1 from deployments d where d.squid_id = s.id
      and (d.finished_at is null or (d.type = 'DELETE' and d.failed <> 'NO' and d.finished_at > ${since.toISOString()})))`,
  )
  return rows.map((row) => row.id)
}

/** Deletes the row of a deleted organization once it has no versions left and billing has settled it. */
export async function removeOrg(db: Db, orgId: number): Promise<void> {
  await db
    .delete(orgs)
    .where(
      and(
        eq(orgs.id, orgId),
        isNotNull(orgs.deletedAt),
        isNotNull(orgs.settledAt),
        sql`not exists (select 1 from squids s where s.org_id = ${orgs.id})`,
        sql`not exists (select 1 from deployments d where d.org_id = ${orgs.id} and d.finished_at is null)`,
      ),
    )
}
