// Reads tables of other modules: orgs, former_codes. Whether a page is public depends on its organization; codes are not available as slugs.

import type { StatusPageTag } from '@shoal/contract'
import { and, asc, count, eq, gt, isNull, lt, ne, notInArray, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { orgs } from '../orgs/index.ts'
import { statusReservedSlugs, statusPages, statusTags } from './tables.ts'

export type PageRow = typeof statusPages.$inferSelect
export type TagRow = typeof statusTags.$inferSelect

export async function findPage(db: Db, orgId: number): Promise<PageRow | null> {
  const [row] = await db.select().from(statusPages).where(eq(statusPages.orgId, orgId))
  return row ?? null
}

/** Returns the tags of a page, in display order. */
export function listTags(db: Db, orgId: number): Promise<TagRow[]> {
  return db.select().from(statusTags).where(eq(statusTags.orgId, orgId)).orderBy(asc(statusTags.position))
}

/** Organizations that may have a page: neither deleted, suspended nor terminated. */
const isActive = and(isNull(orgs.deletedAt), isNull(orgs.suspendedAt), ne(orgs.status, 'TERMINATED'))

/** Whether an organization may show its page to anyone. */
export async function mayBeShown(db: Db, orgId: number): Promise<boolean> {
  const rows = await db
    .select({ id: orgs.id })
    .from(orgs)
    .where(and(eq(orgs.id, orgId), isActive))
  return rows.length > 0
}

/** Returns the slugs of all public pages: enabled pages of active organizations. */
export async function listPublicSlugs(db: Db): Promise<{ slug: string; orgId: number }[]> {
  return await db
    .select({ slug: statusPages.slug, orgId: statusPages.orgId })
    .from(statusPages)
    .innerJoin(orgs, eq(orgs.id, statusPages.orgId))
    .where(and(eq(statusPages.isEnabled, true), isActive))
}

/** Serializes changes of slugs until the transaction ends, so that two organizations cannot take the same slug. */
export async function lockSlugs(tx: Db): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('shoal_status_slugs'))`)
}

/** Whether an organization may use a slug: no other page has it or had it recently, and it is not the code of another organization, even of one that was deleted recently. */
export async function isSlugFree(db: Db, orgId: number, slug: string, now: Date): Promise<boolean> {
  const pages = await db
    .select({ orgId: statusPages.orgId })
    .from(statusPages)
    .where(and(eq(statusPages.slug, slug), ne(statusPages.orgId, orgId)))
  const reserved = await db
    .select({ slug: statusReservedSlugs.slug })
    .from(statusReservedSlugs)
    .where(
      and(
        eq(statusReservedSlugs.slug, slug),
        gt(statusReservedSlugs.until, now),
        sql`${statusReservedSlugs.orgId} is distinct from ${orgId}`,
      ),
    )
  const former = await db.execute(sql`select from former_codes where code = ${slug} and until > ${now}`)
  const codes = await db
    .select({ id: orgs.id })
    .from(orgs)
    .where(and(eq(orgs.code, slug), ne(orgs.id, orgId)))
  return pages.length + reserved.length + former.rows.length + codes.length === 0
}

/** Returns how many previous slugs are reserved for the organization at `now`. */
export async function countReservedSlugs(db: Db, orgId: number, now: Date): Promise<number> {
  const [row] = await db
    .select({ slugs: count() })
    .from(statusReservedSlugs)
    .where(and(eq(statusReservedSlugs.orgId, orgId), gt(statusReservedSlugs.until, now)))
  return row?.slugs ?? 0
}

/** Reserves a previous slug for its organization. */
export async function reserveSlug(db: Db, reservation: typeof statusReservedSlugs.$inferInsert): Promise<void> {
  const { orgId, until } = reservation
  await db
    .insert(statusReservedSlugs)
    .values(reservation)
    .onConflictDoUpdate({ target: statusReservedSlugs.slug, set: { orgId, until } })
}

/** Ends the reservation of a slug. */
export async function releaseSlug(db: Db, slug: string): Promise<void> {
  await db.delete(statusReservedSlugs).where(eq(statusReservedSlugs.slug, slug))
}

/** Deletes slugs that were reserved until a time before `at`. Returns the number of deleted rows. */
export async function deleteReservedSlugsBefore(db: Db, at: Date): Promise<number> {
  const rows = await db.delete(statusReservedSlugs).where(lt(statusReservedSlugs.until, at)).returning()
  return rows.length
}

export async function savePage(db: Db, page: PageRow): Promise<void> {
  const { orgId: _, ...change } = page
  await db.insert(statusPages).values(page).onConflictDoUpdate({ target: statusPages.orgId, set: change })
}

/** Replaces the tags of a page. Tags that remain keep their measurements; removed tags lose them. New tags are measured from `now` on. */
export async function replaceTags(db: Db, orgId: number, tags: StatusPageTag[], now: Date): Promise<void> {
  const remainingIds: number[] = []
  for (const [position, { squid, tag, name }] of tags.entries()) {
    const [row] = await db
      .insert(statusTags)
      .values({
        orgId,
        squidName: squid,
        tag,
        name,
        position,
        addedAt: now,
        measuredUntil: now,
        countedUntil: nextMinute(now),
      })
      .onConflictDoUpdate({ target: [statusTags.orgId, statusTags.squidName, statusTags.tag], set: { name, position } })
      .returning({ id: statusTags.id })
    if (row) remainingIds.push(row.id)
  }
  await db
    .delete(statusTags)
    .where(
      and(eq(statusTags.orgId, orgId), remainingIds.length > 0 ? notInArray(statusTags.id, remainingIds) : undefined),
    )
}

/** Starts to measure at `now`. Called when a page is turned on, so that the time before does not count. */
export async function restartMeasuring(db: Db, orgId: number, now: Date): Promise<void> {
  await db
    .update(statusTags)
    .set({ measuredUntil: now, countedUntil: nextMinute(now) })
    .where(eq(statusTags.orgId, orgId))
}

/** Returns the start of the next minute, because the current minute contains requests from before `at`, too. */
const nextMinute = (at: Date) => new Date(Math.ceil(at.getTime() / 60_000) * 60_000)
