// Reads tables of other modules: orgs, squids, users. Selects versions and organizations by the state of their deployments, and the users
// who requested the deployments.

import { and, asc, desc, eq, gt, inArray, isNull, lt, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { notify } from '../../db/notifications.ts'
import { orgs } from '../orgs/index.ts'
import { users } from '../auth/index.ts'
import { deployments, deploymentSteps } from './tables.ts'

export type DeploymentRow = typeof deployments.$inferSelect
export type NewDeployment = typeof deployments.$inferInsert

/** The Postgres channel (LISTEN/NOTIFY) that is notified when a deployment waits for a worker. */
export const deploymentsChannel = 'shoal_deployments'

/** Returns the row of the organization; null if it does not exist. */
export async function selectOrg(db: Db, orgId: number) {
  const [org] = await db.select().from(orgs).where(eq(orgs.id, orgId))
  return org ?? null
}

/** Inserts a deployment, and notifies workers when the transaction commits. */
export async function insertDeployment(db: Db, deployment: NewDeployment): Promise<DeploymentRow> {
  const [row] = await db.insert(deployments).values(deployment).returning()
  if (!row) throw new Error('The deployment was not inserted')
  await notify(db, deploymentsChannel, String(row.id))
  return row
}

/** Returns the deployment of an earlier, identical request if it is in progress, or if it succeeded after `endedAfter`. */
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

/** Returns a deployment, in progress or ended, of an identical request; null if there is none. */
export async function selectByRequestKey(db: Db, requestKey: string): Promise<DeploymentRow | null> {
  const [row] = await db.select().from(deployments).where(eq(deployments.requestKey, requestKey)).limit(1)
  return row ?? null
}

/** Returns the deletion of a version that no longer exists, if this user requested it and it ended after `endedAfter`. */
export async function selectRecentDelete(
  db: Db,
  criteria: { orgId: number; userId: number; name: string; slot: string },
  endedAfter: Date,
): Promise<DeploymentRow | null> {
  const [row] = await db
    .select()
    .from(deployments)
    .where(
      and(
        eq(deployments.orgId, criteria.orgId),
        eq(deployments.userId, criteria.userId),
        eq(deployments.squidName, criteria.name),
        eq(deployments.squidSlot, criteria.slot),
        eq(deployments.type, 'DELETE'),
        eq(deployments.failed, 'NO'),
        gt(deployments.finishedAt, endedAfter),
      ),
    )
    .orderBy(desc(deployments.id))
    .limit(1)
  return row ?? null
}

/** Returns the deployment of the version that is in progress; null if there is none. */
export async function selectUnfinished(db: Db, squidId: number): Promise<DeploymentRow | null> {
  const [row] = await db
    .select()
    .from(deployments)
    .where(and(eq(deployments.squidId, squidId), isNull(deployments.finishedAt)))
  return row ?? null
}

/** Replaces the workload in the notes of a deployment in progress. */
export async function saveSealedWorkload(db: Db, id: number, sealedWorkload: string): Promise<void> {
  await db
    .update(deployments)
    .set({ notes: sql`${deployments.notes} || ${JSON.stringify({ sealedWorkload })}::jsonb` })
    .where(eq(deployments.id, id))
}

/** Returns the versions with a deployment in progress. */
export async function squidsInProgress(db: Db): Promise<Set<number>> {
  const rows = await db.select({ squidId: deployments.squidId }).from(deployments).where(isNull(deployments.finishedAt))
  return new Set(rows.map((row) => row.squidId))
}

/** Returns the versions whose first deployment failed and whose row still exists. */
export async function listNeverDeployed(db: Db): Promise<{ id: number; orgId: number }[]> {
  const { rows } = await db.execute<{ id: number; orgId: number }>(
    sql`select s.id, s.org_id as "orgId" from squids s where s.image is null
      and exists (select 1 from deployments d where d.squid_id = s.id and d.failed <> 'NO')
      and not exists (select 1 from deployments d where d.squid_id = s.id and d.finished_at is null)`,
  )
  return rows
}

/**
 * Returns up to 500 unfinished deployments: the oldest of each organization, then the second oldest of each, and so on. The deployments of
 * one organization therefore do not hide those of others.
 */
export function listUnfinished(db: Db): Promise<{ id: number; squidId: number; orgId: number }[]> {
  return db
    .select({ id: deployments.id, squidId: deployments.squidId, orgId: deployments.orgId })
    .from(deployments)
    .where(isNull(deployments.finishedAt))
    .orderBy(sql`row_number() over (partition by ${deployments.orgId} order by ${deployments.id})`, asc(deployments.id))
    .limit(500)
}

/** A deployment, and the user who requested it; null if the system did, or if the user was deleted. */
export type DeploymentWithUser = {
  deployment: DeploymentRow
  user: { id: number; email: string; fullName: string } | null
}

const withUser = { deployment: deployments, user: { id: users.id, email: users.email, fullName: users.fullName } }

/** Returns the deployment with the user who requested it; null if the organization has no such deployment. */
export async function selectDeployment(db: Db, orgId: number, id: number): Promise<DeploymentWithUser | null> {
  const [row] = await db
    .select(withUser)
    .from(deployments)
    .leftJoin(users, eq(users.id, deployments.userId))
    .where(and(eq(deployments.orgId, orgId), eq(deployments.id, id)))
  return row ?? null
}

/** Which deployments to list: `beforeId` selects those with a lower id. */
export type ListFilter = { squidId?: number; isInProgress: boolean; beforeId?: number; limit: number }

/** Returns deployments, newest first. */
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

/** Returns the steps that have begun, ordered by deployment and number. */
export function listSteps(db: Db, deploymentIds: number[]): Promise<StepRow[]> {
  return db
    .select()
    .from(deploymentSteps)
    .where(inArray(deploymentSteps.deploymentId, deploymentIds))
    .orderBy(asc(deploymentSteps.deploymentId), asc(deploymentSteps.seq))
}

/** Whether a deployment of the organization is in progress. */
export async function hasUnfinishedDeployment(db: Db, orgId: number): Promise<boolean> {
  const rows = await db
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(eq(deployments.orgId, orgId), isNull(deployments.finishedAt)))
    .limit(1)
  return rows.length > 0
}

/** Returns the versions of deleted organizations. Omits those with a deployment in progress or a deletion that failed after `since`. */
export async function listVersionsOfDeletedOrgs(db: Db, since: Date): Promise<{ id: number; orgId: number }[]> {
  const { rows } = await db.execute<{ id: number; orgId: number }>(
    sql`select s.id, s.org_id as "orgId" from squids s join orgs o on o.id = s.org_id
      where o.deleted_at is not null and not exists (
        select 1 from deployments d where d.squid_id = s.id
        and (d.finished_at is null or (d.type = 'DELETE' and d.failed <> 'NO' and d.finished_at > ${since.toISOString()})))`,
  )
  return rows
}

/** Returns the deleted organizations that have no versions left and that billing has settled. */
export async function listRemovableOrgs(db: Db): Promise<number[]> {
  const { rows } = await db.execute<{ id: number }>(
    sql`select o.id from orgs o where o.deleted_at is not null and o.settled_at is not null
      and not exists (select 1 from squids s where s.org_id = o.id)`,
  )
  return rows.map((row) => row.id)
}

/** Returns those of `ids` that belonged to deleted organizations. Omits ids that this database has not assigned yet. */
export async function listDeletedOrgs(db: Db, ids: number[]): Promise<number[]> {
  const { rows } = await db.execute<{ id: number }>(
    sql`select tenant.id::int8 as id from unnest(${sql.param(ids)}::bigint[]) as tenant (id)
      where tenant.id <= coalesce(pg_sequence_last_value(pg_get_serial_sequence('orgs', 'id')::regclass), 0)
        and not exists (select from orgs where orgs.id = tenant.id)`,
  )
  return rows.map(({ id }) => id)
}

/** Returns how many milliseconds the last start of the version's programs took; null if that is not known. */
export async function lastStartMs(db: Db, squidId: number): Promise<number | null> {
  const { rows } = await db.execute<{ ms: number }>(
    sql`select (extract(epoch from s.finished_at - s.started_at) * 1000)::float8 as ms
      from deployments d join deployment_steps s on s.deployment_id = d.id
      where d.squid_id = ${squidId} and d.failed = 'NO' and d.type <> 'HIBERNATE' and s.status = 'SQUID_SYNCING' and s.finished_at is not null
      order by d.id desc limit 1`,
  )
  return rows[0]?.ms ?? null
}

/** Returns the sealed workloads of those of the versions that have one. */
export async function selectSealedWorkloads(
  db: Db,
  squidIds: number[],
): Promise<{ squidId: number; sealedWorkload: string }[]> {
  const { rows } = await db.execute<{ squidId: number; sealedWorkload: string }>(sql`
    select id as "squidId", sealed_workload as "sealedWorkload" from squids
    where id in ${squidIds} and sealed_workload is not null`)
  return rows
}
