// Writes tables of other modules: status_held_slugs. The deletion of an organization deletes its status page, whose address stays reserved.
// Reads tables of other modules: status_pages. The address.

import { days } from '../../clock.ts'
import { and, eq, gt, isNotNull, lt, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { formerCodes, orgs, roles } from './tables.ts'

/** How long the code of a deleted organization, and the address of its status page, stay reserved. */
const reservedMs = days(90)

/**
 * Reserves the code of an organization for its administrators, and the address of its status page. Deletes reservations that have ended.
 * Must run in the transaction that deletes the organization.
 */
export async function reserveFormerCode(tx: Db, orgId: number, now: Date): Promise<void> {
  const [org] = await tx.select({ code: orgs.code }).from(orgs).where(eq(orgs.id, orgId))
  if (!org) return
  const admins = await tx
    .select({ userId: roles.userId })
    .from(roles)
    .where(and(eq(roles.orgId, orgId), eq(roles.type, 'admin'), isNotNull(roles.userId)))
  const until = new Date(now.getTime() + reservedMs)
  const adminIds = admins.flatMap(({ userId }) => userId ?? [])
  await tx.delete(formerCodes).where(lt(formerCodes.until, now))
  await tx
    .insert(formerCodes)
    .values({ code: org.code, adminIds, until })
    .onConflictDoUpdate({ target: formerCodes.code, set: { adminIds, until } })
  await tx.execute(sql`
    insert into status_held_slugs (slug, until) select slug, ${until} from status_pages
    where org_id = ${orgId} and slug <> ${org.code}
    on conflict (slug) do update set org_id = null, until = excluded.until`)
}

/** Returns until when the code is reserved for other users; null if the user may use it. */
export async function reservedUntil(db: Db, code: string, userId: number, now: Date): Promise<Date | null> {
  const [row] = await db
    .select()
    .from(formerCodes)
    .where(and(eq(formerCodes.code, code), gt(formerCodes.until, now)))
  return row && !row.adminIds.includes(userId) ? row.until : null
}

/** Ends the reservation of a code. */
export async function releaseFormerCode(db: Db, code: string): Promise<void> {
  await db.delete(formerCodes).where(eq(formerCodes.code, code))
}
