import type { Workload } from '@shoal/runtime'
import { and, count, eq, inArray, sql, asc } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { notify } from '../../db/notifications.ts'
import type { Sealer } from '../../sealing/sealer.ts'
import { squids, squidTags, type LastDeploy, squidNotices } from './tables.ts'
import { stopGraceMsOf } from '../containers.ts'

export type SquidRow = typeof squids.$inferSelect

/** The channel that is notified, with the id of the version, when its generation, tags or desired state change. */
export const squidsChannel = 'shoal_squids'

/** Returns the version with this id; null if there is none. */
export async function selectSquid(db: Db, id: number): Promise<SquidRow | null> {
  const [row] = await db.select().from(squids).where(eq(squids.id, id))
  return row ?? null
}

/** Returns the version in this slot; null if the organization has none. */
export async function selectSquidBySlot(db: Db, orgId: number, name: string, slot: string): Promise<SquidRow | null> {
  const [row] = await db
    .select()
    .from(squids)
    .where(and(eq(squids.orgId, orgId), eq(squids.name, name), eq(squids.slot, slot)))
  return row ?? null
}

/** Returns the version with this tag; null if the organization has none. */
export async function selectSquidByTag(db: Db, orgId: number, name: string, tag: string): Promise<SquidRow | null> {
  const [row] = await db
    .select({ squid: squids })
    .from(squidTags)
    .innerJoin(squids, eq(squids.id, squidTags.squidId))
    .where(and(eq(squidTags.orgId, orgId), eq(squidTags.squidName, name), eq(squidTags.tag, tag)))
  return row?.squid ?? null
}

/** Returns those of the ids whose version still exists. */
export async function existingSquids(db: Db, ids: number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const rows = await db.select({ id: squids.id }).from(squids).where(inArray(squids.id, ids))
  return new Set(rows.map((row) => row.id))
}

/** Returns the number of the organization's versions. */
export async function countSquids(db: Db, orgId: number): Promise<number> {
  const [row] = await db.select({ squids: count() }).from(squids).where(eq(squids.orgId, orgId))
  return row?.squids ?? 0
}

/** Returns the organizations that have versions, the one with the oldest version first. */
export async function listOrgsWithSquids(db: Db): Promise<number[]> {
  const rows = await db
    .select({ orgId: squids.orgId })
    .from(squids)
    .groupBy(squids.orgId)
    .orderBy(sql`min(${squids.id})`)
  return rows.map(({ orgId }) => orgId)
}

export async function insertSquid(db: Db, squid: typeof squids.$inferInsert): Promise<SquidRow> {
  const [row] = await db.insert(squids).values(squid).returning()
  if (!row) throw new Error('The squid was not inserted')
  return row
}

/** Changes columns of the version's row. Does not notify gateways; see `switchSquid`. */
export async function updateSquid(db: Db, id: number, change: Partial<typeof squids.$inferInsert>): Promise<void> {
  await db.update(squids).set(change).where(eq(squids.id, id))
}

/**
 * Records the last deployment. If it only changes tags, keeps the failed deployment before it as well, so that users still see the failure.
 */
export async function setLastDeploy(db: Db, id: number, lastDeploy: LastDeploy): Promise<void> {
  const [row] = await db.select({ before: squids.lastDeploy }).from(squids).where(eq(squids.id, id))
  const failedBefore = row?.before && changesOnlyTags(lastDeploy) ? failedDeployIn(row.before) : undefined
  await updateSquid(db, id, { lastDeploy: { ...lastDeploy, ...(failedBefore && { failedBefore }) } })
}

const changesOnlyTags = ({ type }: Pick<LastDeploy, 'type'>): boolean => type === 'SET_TAG' || type === 'REMOVE_TAG'

function failedDeployIn({ running, failedBefore, ...deploy }: LastDeploy): LastDeploy['failedBefore'] {
  return !running && deploy.failed !== 'NO' && !changesOnlyTags(deploy) ? deploy : failedBefore
}

/** Notifies gateways and other processes that cache versions, when the transaction commits. */
export async function notifySquidChanged(db: Db, id: number): Promise<void> {
  await notify(db, squidsChannel, String(id))
}

/** Deletes the row of the version with all rows that depend on it, and notifies gateways. */
export async function deleteSquid(db: Db, id: number): Promise<void> {
  await db.delete(squids).where(eq(squids.id, id))
  await notifySquidChanged(db, id)
}

/** Returns a new generation number, which no earlier deployment of the version has used. */
export async function beginGeneration(db: Db, id: number): Promise<number> {
  const [row] = await db
    .update(squids)
    .set({ generationsUsed: sql`${squids.generationsUsed} + 1` })
    .where(eq(squids.id, id))
    .returning({ generation: squids.generationsUsed })
  if (!row) throw new Error(`Squid ${id} does not exist`)
  return row.generation
}

/**
 * Changes which workload of the version runs, and notifies gateways. Without a workload the reconcile loop removes all containers; the
 * version's data is kept.
 */
export async function switchSquid(
  db: Db,
  id: number,
  change: Partial<typeof squids.$inferInsert> & { sealedWorkload: string | null },
): Promise<void> {
  await updateSquid(db, id, change)
  await notifySquidChanged(db, id)
}

/** The columns of a version that determine which containers it should have. */
type DesiredVersion = Pick<
  SquidRow,
  'id' | 'orgId' | 'generation' | 'apiReplicas' | 'hasuraReplicas' | 'processors'
> & { hasWorkload: boolean }

/** Returns the columns of every version that the reconcile loop compares with its running containers. */
export async function listDesired(db: Db): Promise<DesiredVersion[]> {
  const { rows } = await db.execute<DesiredVersion>(sql`
    select id, org_id as "orgId", generation, api_replicas as "apiReplicas", hasura_replicas as "hasuraReplicas", processors,
      sealed_workload is not null as "hasWorkload" from squids`)
  return rows
}

/** The context that binds a sealed workload to its version. */
export const workloadContext = (squidId: number) => `squid ${squidId} workload`

/** Encrypts a workload, because its environment contains secrets. */
export const sealWorkload = (sealer: Sealer, squidId: number, workload: Workload): string =>
  sealer.seal(JSON.stringify(workload), workloadContext(squidId))

/** Unseals a workload. @throws Error when the key with which the workload was sealed is missing */
export const openWorkload = (sealer: Sealer, squidId: number, sealed: string): Workload =>
  withStopGrace(JSON.parse(sealer.open(sealed, workloadContext(squidId))) as Workload)

/** Adds the grace periods, because workloads sealed by earlier releases have none. */
const withStopGrace = (workload: Workload): Workload => ({
  ...workload,
  containers: workload.containers.map((spec) => ({ ...spec, stopGraceMs: stopGraceMsOf(spec) })),
})

export type SquidNotice = Omit<typeof squidNotices.$inferInsert, 'id'>

/** Adds a message to the log of a version, as a warning. @throws the database's foreign-key error if the version was deleted */
export async function addNotice(db: Db, notice: SquidNotice): Promise<void> {
  await db.insert(squidNotices).values(notice)
}

type TaggedSquid = Pick<SquidRow, 'id' | 'orgId' | 'name'>

/** Assigns the tag to the version in one statement, which removes it from any other version of the squid. */
export async function setTag(db: Db, squid: TaggedSquid, tag: string, at: Date): Promise<void> {
  await db
    .insert(squidTags)
    .values({ orgId: squid.orgId, squidName: squid.name, tag, squidId: squid.id, setAt: at })
    .onConflictDoUpdate({
      target: [squidTags.orgId, squidTags.squidName, squidTags.tag],
      set: { squidId: squid.id, setAt: at },
    })
  await notifySquidChanged(db, squid.id)
}

/** Removes the tag from the version. Does nothing if the version does not have the tag. */
export async function removeTag(db: Db, squid: TaggedSquid, tag: string): Promise<void> {
  await db.delete(squidTags).where(and(eq(squidTags.squidId, squid.id), eq(squidTags.tag, tag)))
  await notifySquidChanged(db, squid.id)
}

/** Returns the tags of the version, sorted by name. */
export async function tagsOf(db: Db, squidId: number): Promise<string[]> {
  const rows = await db
    .select({ tag: squidTags.tag })
    .from(squidTags)
    .where(eq(squidTags.squidId, squidId))
    .orderBy(asc(squidTags.tag))
  return rows.map((row) => row.tag)
}
