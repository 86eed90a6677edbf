// Reads tables of other modules: squids. Selects running versions of organizations that reached a cap.

import { and, eq, ne, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { billingHibernations } from '../tables.ts'
import { monthOfMs } from '../time.ts'

export type HibernationRow = typeof billingHibernations.$inferSelect

/** Every version that is wanted to run; those the owner hibernated stay theirs. */
export async function hibernateAllForDebt(db: Db, orgId: number, at: Date): Promise<void> {
  await db.execute(sql`
    insert into billing_hibernations (squid_id, org_id, squid_name, reason, month, is_waking, at)
    select id, org_id, name || '@' || slot, 'debt', ${monthOfMs(at.getTime())}, false, ${at} from squids
    where org_id = ${orgId} and wanted = 'running'
    on conflict (squid_id) do update set reason = 'debt', is_waking = false`)
}

export async function hibernateForCap(
  db: Db,
  squid: { id: number; orgId: number; name: string },
  at: Date,
): Promise<boolean> {
  const added = await db
    .insert(billingHibernations)
    .values({
      squidId: squid.id,
      orgId: squid.orgId,
      squidName: squid.name,
      reason: 'cap',
      month: monthOfMs(at.getTime()),
      at,
    })
    .onConflictDoNothing()
    .returning({ id: billingHibernations.squidId })
  return added.length > 0
}

export async function wakeAfterDebt(db: Db, orgId: number): Promise<void> {
  await wake(db, orgId, 'debt')
}

/** Versions that the cap hibernated. */
export async function wakeAfterCap(db: Db, orgId: number): Promise<void> {
  await wake(db, orgId, 'cap')
}

async function wake(db: Db, orgId: number, reason: HibernationRow['reason']): Promise<void> {
  await db
    .update(billingHibernations)
    .set({ isWaking: true })
    .where(and(eq(billingHibernations.orgId, orgId), eq(billingHibernations.reason, reason)))
}

export const listHibernations = (db: Db): Promise<HibernationRow[]> => db.select().from(billingHibernations)

export function listHibernatedByCap(db: Db, orgId: number): Promise<HibernationRow[]> {
  return db
    .select()
    .from(billingHibernations)
    .where(
      and(
        eq(billingHibernations.orgId, orgId),
        eq(billingHibernations.reason, 'cap'),
        ne(billingHibernations.isWaking, true),
      ),
    )
}

export async function deleteHibernation(db: Db, squidId: number): Promise<void> {
  await db.delete(billingHibernations).where(eq(billingHibernations.squidId, squidId))
}
